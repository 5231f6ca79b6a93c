"""What expressions of PromQL ask for, compared with the metrics that the code has."""

from collections.abc import Iterator

import promql_parser

from tests.support.checks.metric_table import Metric, all_metrics
from tests.support.checks.metric_table import spark as spark_metrics

TARGET_LABELS = {"job", "instance", "namespace", "pod", "cdc_agent", "cluster"}
OF_THE_SCRAPE = {
    "up": "gauge",
    "ALERTS": "gauge",
    "process_resident_memory_bytes": "gauge",
    "process_cpu_seconds_total": "counter",
    "process_start_time_seconds": "gauge",
    "process_open_fds": "gauge",
    "process_max_fds": "gauge",
}
"""Types of series that Prometheus and its client write, by name."""
IDENTITY_LABELS = {
    *("service_name", "version", "host", "topic_prefix", "cluster", "datacenter"),
    *("rack", "node_id"),
}
COUNTER_FUNCTIONS = {"rate", "increase", "irate"}


def _known() -> dict[str, Metric]:
    """Every metric by name; a name of both agents has the labels of either."""
    known: dict[str, Metric] = {}
    for metrics in (*all_metrics().values(), spark_metrics()):
        for each in metrics:
            labels = set(each.labels) | set(known[each.name].labels if each.name in known else ())
            known[each.name] = Metric(each.name, each.type, tuple(sorted(labels)), each.doc)
    return known


METRICS = _known()


def labels_of(name: str) -> set[str]:
    """The labels of a metric besides those of its target."""
    if name == "cdc_build_info":
        return IDENTITY_LABELS
    return set(METRICS[name].labels) if name in METRICS else set()


def selectors(expression: object) -> Iterator[promql_parser.VectorSelector]:
    """All selectors of a parsed expression."""
    for selector, _ in _selected(expression, None):
        yield selector


def _selected(
    expression: object, function: str | None
) -> Iterator[tuple[promql_parser.VectorSelector, str | None]]:
    match expression:
        case promql_parser.VectorSelector():
            yield expression, function
        case promql_parser.MatrixSelector():
            yield expression.vector_selector, function
        case promql_parser.BinaryExpr():
            yield from _selected(expression.lhs, None)
            yield from _selected(expression.rhs, None)
        case promql_parser.Call():
            for argument in expression.args:
                yield from _selected(argument, expression.func.name)
        case promql_parser.AggregateExpr() | promql_parser.ParenExpr() | promql_parser.UnaryExpr():
            yield from _selected(expression.expr, None)
        case promql_parser.SubqueryExpr():
            yield from _selected(expression.expr, function)


def problems(expr: str) -> list[str]:
    """Metrics and labels of an expression that do not exist, and functions of the wrong type."""
    found = []
    for selector, function in _selected(promql_parser.parse(expr), None):
        name = str(selector.name)
        kind = METRICS[name].type if name in METRICS else OF_THE_SCRAPE.get(name)
        if kind is None:
            found.append(f"{expr}: there is no {name}")
            continue
        known = labels_of(name) | TARGET_LABELS
        if name == "ALERTS":
            known |= {"alertname"}
        found += [
            f"{expr}: {name} has no label {matcher.name}"
            for matcher in selector.matchers.matchers
            if matcher.name not in known
        ]
        if (kind == "counter") != (function in COUNTER_FUNCTIONS) and function is not None:
            found.append(f"{expr}: {function} of a {kind}")
    return found

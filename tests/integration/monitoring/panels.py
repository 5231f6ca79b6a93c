"""A promtool unit test: every panel of every dashboard has a value."""

import json
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

from tests.support.checks.metric_table import Metric
from tests.support.checks.promql import METRICS, OF_THE_SCRAPE
from tests.support.monitoring.__main__ import FOLDER
from tests.support.monitoring.dashboards.sources import expressions, filled, source

_NAMES = source("fleet")["names"]
IDENTITY = {
    "service_name": ("cdc-sidecar-cassandra",),
    "version": ("0.2.0",),
    "host": ("n1",),
    "topic_prefix": ("shop",),
    "cluster": ("prod",),
    "datacenter": ("dc1",),
    "rack": ("r1",),
    "node_id": ("a1",),
}
VALUES = {"status": ("ok", "degraded", "failing"), "state": ("refused", "completed")}
"""Values of labels in expressions; other labels have one value. n1 is a Cassandra agent, n2 one for
MongoDB, and n3 has not answered for an hour."""
SITES: Mapping[str, Mapping[str, Any]] = {
    "labels of the agent": {"target": {}, "identity": IDENTITY},
    "a cluster label of the target": {
        "target": {"cluster": "k8s"},
        "identity": {**IDENTITY, "cluster": ("k8s",), "exported_cluster": ("prod",)},
    },
    "an operator's labels of the target": {
        "target": {"namespace": "cassandra", "pod": "cassandra-0"},
        "identity": IDENTITY,
    },
    "agents of release 0.1.0": {
        "target": {},
        "identity": {name: IDENTITY[name] for name in ("service_name", "version")},
    },
}


def _series(
    metric: Metric, target: Mapping[str, str], identity: Mapping[str, tuple[str, ...]]
) -> Iterator[dict[str, str]]:
    labels: Mapping[str, tuple[str, ...]] = {
        label: VALUES.get(label, ("x",)) for label in metric.labels
    }
    if metric.name == "cdc_build_info":
        labels = {name: values[:1] for name, values in identity.items()}
        mongo = {**labels, "service_name": ("cdc-sidecar-mongo",)}
        yield from _of("n2:8000", metric.name, target, mongo, "1x120")
        yield from _of("n3:8000", metric.name, target, labels, "1x60 stale")
    if metric.name == "up":
        yield from _of("n3:8000", metric.name, target, {}, "1x60 0x60")
    values = "0+60x120" if metric.type == "counter" else "1x120"
    yield from _of("n1:8000", metric.name, target, labels, values)


def _of(
    instance: str,
    name: str,
    target: Mapping[str, str],
    labels: Mapping[str, tuple[str, ...]],
    values: str,
) -> Iterator[dict[str, str]]:
    for chosen in product(*labels.values()):
        named = dict(zip(labels, chosen, strict=True))
        pairs = {"job": "any", "instance": instance, **target, **named}
        text = ", ".join(f'{label}="{value}"' for label, value in pairs.items())
        yield {"series": f"{name}{{{text}}}", "values": values}


def tests() -> dict[str, Any]:
    """The document: one group of tests for each way of labelling targets."""
    of_the_scrape = [Metric(name, kind, (), "") for name, kind in OF_THE_SCRAPE.items()]
    metrics = [each for each in (*METRICS.values(), *of_the_scrape) if each.name != "ALERTS"]
    found = []
    for path in sorted((FOLDER / "dashboards").glob("*.json")):
        exprs = sorted(set(expressions(json.loads(path.read_text(encoding="utf-8")))))
        asked = [_expected(f"count({expr}) > bool 0", "2h", {"{}": 1}) for expr in exprs]
        for site, labels in SITES.items():
            series = [
                each
                for metric in metrics
                for each in _series(metric, labels["target"], labels["identity"])
            ]
            found.append(_test(f"{path.stem}: {site}", series, asked))
    return {"evaluation_interval": "1m", "tests": [*found, _states()]}


def _test(
    name: str, series: list[dict[str, str]], expected: list[dict[str, Any]]
) -> dict[str, Any]:
    known = {"name": name, "interval": "1m"}
    return known | {"input_series": series, "promql_expr_test": expected}


def _expected(expr: str, time: str, values: Mapping[str, int]) -> dict[str, Any]:
    """An expression and its values by labels."""
    samples = [{"labels": labels, "value": value} for labels, value in values.items()]
    return {"expr": expr, "eval_time": time, "exp_samples": samples}


def _states() -> dict[str, Any]:
    """One agent in each state of the fleet, and a target of another kind that is down."""
    states = {"ok": 0, "degraded": 1, "failing": 2}
    series = {}
    for status in states:
        target = f'job="any", instance="{status}"'
        for each in states:
            series[f'cdc_status{{{target}, status="{each}"}}'] = f"{each == status:d}x60"
        series[f'cdc_build_info{{{target}, cluster="prod"}}'] = series[f"up{{{target}}}"] = "1x60"
    new = 'up{job="any", instance="new", cdc_agent="mongo"}'
    series |= {
        'cdc_build_info{job="any", instance="silent"}': "1x10 stale",
        'up{job="any", instance="silent"}': "1x10 0x50",
        new: "0x60",
        'up{job="any", instance="other"}': "0x60",
    }
    expected = {**states, "silent": 3, "new": 3}
    by_instance = {f'{{instance="{name}"}}': value for name, value in expected.items()}
    agents = f"count by (instance) ({filled(_NAMES['AGENTS'])})"
    return _test(
        "states of the fleet",
        [{"series": name, "values": values} for name, values in series.items()],
        [
            _expected(filled(_NAMES["STATE"]), "1h", by_instance),
            _expected(agents, "1h", dict.fromkeys(by_instance, 1)),
            _expected(filled(_NAMES["DOWN"]), "5m", {new: 0}),
        ],
    )


def write(folder: Path) -> tuple[Path, int]:
    """Write the document; returns its path and the number of evaluated expressions."""
    path, document = folder / "panels.yaml", tests()
    path.write_text(json.dumps(document), encoding="utf-8")
    return path, sum(len(each["promql_expr_test"]) for each in document["tests"])

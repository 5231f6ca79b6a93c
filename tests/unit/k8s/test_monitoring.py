"""Alarms and dashboard ask for metrics and labels that there are, and are explained."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml

from tests.support.metric_table import all_metrics

REPOSITORY = Path(__file__).resolve().parents[3]
MONITORING = REPOSITORY / "k8s" / "monitoring"
DOCS = REPOSITORY / "docs"
RULE_KEYS = {"alert", "expr", "for", "labels", "annotations"}
TARGET_LABELS = {"job", "instance", "namespace", "pod"}
OF_THE_SCRAPE = {"up", "process_resident_memory_bytes", "process_cpu_seconds_total"}
LABELS = {
    metric.name: set(metric.labels) for metrics in all_metrics().values() for metric in metrics
}
"""A name that both agents have has the labels of either."""
for metrics in all_metrics().values():
    for metric in metrics:
        LABELS[metric.name] |= set(metric.labels)


def rules() -> list[dict[str, Any]]:
    text = (MONITORING / "prometheus-rule.yaml").read_text(encoding="utf-8")
    return [rule for group in yaml.safe_load(text)["spec"]["groups"] for rule in group["rules"]]


def dashboard() -> dict[str, Any]:
    return dict(json.loads((MONITORING / "dashboard.json").read_text(encoding="utf-8")))


def queries() -> list[str]:
    """What the panels ask, with Grafana's variables filled in."""
    found = [
        target["expr"] for panel in dashboard()["panels"] for target in panel.get("targets", ())
    ]
    return [
        expr.replace("$__rate_interval", "5m").replace("$job", ".*").replace("$instance", ".*")
        for expr in found
    ]


def selectors(expression: object) -> Iterator[promql_parser.VectorSelector]:
    match expression:
        case promql_parser.VectorSelector():
            yield expression
        case promql_parser.BinaryExpr():
            yield from selectors(expression.lhs)
            yield from selectors(expression.rhs)
        case promql_parser.Call():
            for argument in expression.args:
                yield from selectors(argument)
        case promql_parser.MatrixSelector():
            yield expression.vector_selector
        case promql_parser.AggregateExpr() | promql_parser.ParenExpr() | promql_parser.UnaryExpr():
            yield from selectors(expression.expr)


def problems(expr: str) -> list[str]:
    """What an expression asks for that is not there."""
    found = []
    for selector in selectors(promql_parser.parse(expr)):
        if selector.name not in LABELS.keys() | OF_THE_SCRAPE:
            found.append(f"{expr}: there is no {selector.name}")
            continue
        known = LABELS.get(str(selector.name), set()) | TARGET_LABELS
        for matcher in selector.matchers.matchers:
            if matcher.name not in known:
                found.append(f"{expr}: {selector.name} has no label {matcher.name}")
    return found


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule["alert"])
def test_alarm_uses_existing_metrics_and_is_explained(rule: dict[str, Any]) -> None:
    assert rule.keys() <= RULE_KEYS
    assert problems(rule["expr"]) == []
    assert rule["labels"]["severity"] in ("critical", "warning", "info")
    assert rule["annotations"].keys() == {"summary", "description"}
    asked = set().union(
        *(
            LABELS.get(str(each.name), set())
            for each in selectors(promql_parser.parse(rule["expr"]))
        )
    )
    used = re.findall(r"\$labels\.(\w+)", " ".join(rule["annotations"].values()))
    assert set(used) <= asked | TARGET_LABELS
    assert re.fullmatch(r"\d+[smh]", rule.get("for", "0s"))
    assert f"| `{rule['alert']}` |" in (DOCS / "how-to" / "monitoring.md").read_text(
        encoding="utf-8"
    )


def test_the_documentation_explains_no_alarm_that_is_gone() -> None:
    text = (DOCS / "how-to" / "monitoring.md").read_text(encoding="utf-8")
    explained = re.findall(r"^\| `(Cdc\w+)` \|", text, re.MULTILINE)
    assert sorted(explained) == sorted(rule["alert"] for rule in rules())


def test_dashboard_uses_existing_metrics() -> None:
    assert [problem for expr in queries() for problem in problems(expr)] == []


def test_dashboard_shows_the_most_important_panels_first() -> None:
    named = {each.name for expr in queries() for each in selectors(promql_parser.parse(expr))}
    assert {
        "cdc_raw_time_to_full_seconds",
        "cdc_lag_seconds",
        "cdc_lag_bytes",
        "cdc_unacknowledged_events",
        "cdc_quarantined_total",
        "cdc_oplog_headroom_seconds",
    } <= named


def test_the_dashboard_hangs_together() -> None:
    panels = dashboard()["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    places = [panel["gridPos"] for panel in panels]
    assert all(place["x"] + place["w"] <= 24 for place in places)
    taken = [
        (x, y)
        for place in places
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(set(taken)) == len(taken)
    variables = {variable["name"] for variable in dashboard()["templating"]["list"]}
    used = set(re.findall(r"\$\{?(\w+)", json.dumps(panels))) - {"__rate_interval"}
    assert used <= variables


def test_metrics_that_are_documented_stay() -> None:
    text = (DOCS / "reference" / "metrics.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(cdc_\w+)` \| (\w+) \| (.*?) \|", text, re.MULTILINE)
    documented = {(name, kind, tuple(re.findall(r"\w+", labels))) for name, kind, labels in rows}
    there = {
        (metric.name, metric.type, metric.labels)
        for metrics in all_metrics().values()
        for metric in metrics
    }
    assert len(documented) > 40
    assert documented - there == set()

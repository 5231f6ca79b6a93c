"""Dashboards ask for metrics and labels that exist."""

import json
import re
from typing import Any

import promql_parser

from tests.support.monitoring.__main__ import FOLDER
from tests.support.promql import problems, selectors


def dashboard() -> dict[str, Any]:
    return dict(json.loads((FOLDER / "dashboard.json").read_text(encoding="utf-8")))


def queries() -> list[str]:
    """What the panels ask, with Grafana's variables filled in."""
    found = [
        target["expr"] for panel in dashboard()["panels"] for target in panel.get("targets", ())
    ]
    return [
        expr.replace("$__rate_interval", "5m").replace("$job", ".*").replace("$instance", ".*")
        for expr in found
    ]


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

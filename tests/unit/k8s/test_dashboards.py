"""Dashboards query existing metrics, cover all of them and link to each other."""

import json
import re

import promql_parser
import pytest

from tests.support.checks.metric_table import all_metrics
from tests.support.checks.promql import (
    IDENTITY_LABELS,
    TARGET_LABELS,
    labels_of,
    problems,
    selectors,
)
from tests.support.kubernetes.kustomize import build
from tests.support.monitoring.__main__ import FOLDER
from tests.support.monitoring.dashboards.sources import expressions, panels

FILES = sorted((FOLDER / "dashboards").glob("*.json"))
DASHBOARDS = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in FILES}
LEVEL_2 = ("cdc-cassandra", "cdc-mongodb")
# Units that panels may use.
UNITS = {"short", "s", "bytes", "percentunit", "ops", "Bps", "none"}


@pytest.mark.parametrize("name", DASHBOARDS)
def test_panels_use_existing_metrics(name: str) -> None:
    asked = list(expressions(DASHBOARDS[name]))
    assert asked
    assert [problem for expr in asked for problem in problems(expr)] == []


@pytest.mark.parametrize("name", DASHBOARDS)
def test_legends_name_existing_labels(name: str) -> None:
    for panel in panels(DASHBOARDS[name]):
        for target in panel.get("targets", ()):
            used = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
            metrics = {each for each in re.findall(r"cdc_\w+", target["expr"])}
            known = set().union(*map(labels_of, metrics), TARGET_LABELS, IDENTITY_LABELS)
            assert used <= known, panel["title"]


def test_every_metric_has_a_panel() -> None:
    shown = {
        str(selector.name)
        for dashboard in DASHBOARDS.values()
        for expr in expressions(dashboard)
        for selector in selectors(promql_parser.parse(expr))
    }
    there = {metric.name for metrics in all_metrics().values() for metric in metrics}
    assert there - shown == set()


@pytest.mark.parametrize("name", DASHBOARDS)
def test_panels_do_not_overlap(name: str) -> None:
    found = list(panels(DASHBOARDS[name]))
    assert len({panel["id"] for panel in found}) == len(found)
    places = [panel["gridPos"] for panel in found]
    assert all(place["x"] + place["w"] <= 24 for place in places)
    taken = [
        (x, y)
        for place in places
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(set(taken)) == len(taken)


@pytest.mark.parametrize("name", DASHBOARDS)
def test_panels_have_description_and_unit(name: str) -> None:
    for panel in panels(DASHBOARDS[name]):
        if panel["type"] == "row":
            continue
        assert panel["description"].endswith("."), panel["title"]
        assert panel["targets"]
        refs = [target["refId"] for target in panel["targets"]]
        assert len(set(refs)) == len(refs)
        if panel["type"] in ("timeseries", "stat", "bargauge"):
            assert panel["fieldConfig"]["defaults"]["unit"] in UNITS


@pytest.mark.parametrize("name", DASHBOARDS)
def test_graph_axis_has_one_unit(name: str) -> None:
    """The metric names tell bytes, seconds and ratios apart."""
    for panel in panels(DASHBOARDS[name]):
        if panel["type"] != "timeseries":
            continue
        unit = panel["fieldConfig"]["defaults"]["unit"]
        assert panel["fieldConfig"]["overrides"] == []
        for target in panel["targets"]:
            expr = target["expr"]
            if re.search(r"^(max|min|topk|\(|\w*)[^/]*cdc_\w+_bytes\b[^/]*$", expr):
                assert unit == "bytes", panel["title"]
            if re.match(r"^cdc_\w+_seconds\{[^}]*\}$", expr):
                assert unit == "s", panel["title"]
            if " / " in expr or expr.startswith("cdc_snapshot_progress_ratio"):
                assert unit == "percentunit", panel["title"]
            if "rate(" in expr and "bytes" not in expr and "cpu" not in expr:
                assert unit == "ops", panel["title"]


@pytest.mark.parametrize("name", DASHBOARDS)
def test_variables_are_declared(name: str) -> None:
    dashboard = DASHBOARDS[name]
    variables = {variable["name"] for variable in dashboard["templating"]["list"]}
    used = set(
        re.findall(
            r"\$\{?(?!__)([a-z]\w*)", json.dumps([dashboard["panels"], dashboard["templating"]])
        )
    )
    assert used <= variables
    assert "datasource" in variables


@pytest.mark.parametrize("name", ["cdc-fleet", *LEVEL_2])
def test_dashboards_select_agents_by_cluster_and_datacenter(name: str) -> None:
    variables = {each["name"]: each for each in DASHBOARDS[name]["templating"]["list"]}
    for each in ("cluster", "datacenter"):
        # This also selects agents without the label.
        assert variables[each]["allValue"] == ".*"
    assert "job" not in variables


def test_fleet_links_dashboard_of_each_agent() -> None:
    """`service_name` of an agent is the uid of its dashboard."""
    uids = {DASHBOARDS[name]["uid"] for name in LEVEL_2}
    assert uids == {"cdc-sidecar-cassandra", "cdc-sidecar-mongo"}
    text = json.dumps(DASHBOARDS["cdc-fleet"])
    assert "/d/${__data.fields.Service}?" in text
    assert "var-instance=${__data.fields.Agent:percentencode}" in text


def test_fleet_lists_worst_agent_first() -> None:
    (table,) = (
        panel
        for panel in panels(DASHBOARDS["cdc-fleet"])
        if panel["title"] == "Agents"
        if panel["type"] == "table"
    )
    assert table["options"]["sortBy"][0] == {"displayName": "State", "desc": True}
    organized = table["transformations"][1]["options"]
    assert {"State", "Lag", "Quarantine", "Version"} <= set(organized["renameByName"].values())


@pytest.mark.parametrize("name", DASHBOARDS)
def test_dashboards_have_unique_uids_and_variable_datasource(name: str) -> None:
    dashboard = DASHBOARDS[name]
    assert len({each["uid"] for each in DASHBOARDS.values()}) == len(DASHBOARDS)
    for panel in panels(dashboard):
        if panel["type"] != "row":
            assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}


def test_config_maps_fit_into_kubectl_annotation() -> None:
    """kubectl stores a copy of the object as JSON in an annotation of at most 256 KiB."""
    maps = [each for each in build(FOLDER) if each["kind"] == "ConfigMap"]
    assert len(maps) == len(DASHBOARDS)
    assert max(len(json.dumps(each)) for each in maps) < 256 * 1024

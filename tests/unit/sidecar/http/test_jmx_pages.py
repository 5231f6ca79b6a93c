"""Debezium's metrics for existing Prometheus and Grafana setups."""

from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from sidecar.http.jmx_pages import jmx_pages

CONTEXTS: dict[str, dict[str, Any]] = {
    "streaming": {
        "Connected": True,
        "MilliSecondsBehindSource": 1500,
        "MilliSecondsSinceLastEvent": -1,
        "TotalNumberOfEventsSeen": 7,
        "LastEvent": "p.shop.a",
        "CapturedTables": ["shop.a"],
    },
    "snapshot": {"SnapshotRunning": False, "RowsScanned": {"shop.a": 5, 'a"b\\': 2}},
}


def client_of(
    contexts: dict[str, dict[str, Any]], tags: dict[str, str] | None = None
) -> FlaskClient:
    app = Flask("test")
    app.register_blueprint(jmx_pages("mongodb", "shop", lambda: contexts, tags or {}))
    return app.test_client()


def selected(client: FlaskClient, metric: str, /, **labels: str) -> list[float]:
    """Return the values that PromQL selects by `metric{label="value"}`."""
    return [
        sample.value
        for family in text_string_to_metric_families(client.get("/metrics/jmx").text)
        for sample in family.samples
        if sample.name == metric and labels.items() <= sample.labels.items()
    ]


@pytest.mark.parametrize(
    ("attribute", "context", "values"),
    [
        ("Connected", "streaming", [1]),
        ("MilliSecondsBehindSource", "streaming", [1500]),
        ("MilliSecondsSinceLastEvent", "streaming", [-1]),
        ("TotalNumberOfEventsSeen", "streaming", [7]),
        ("SnapshotRunning", "snapshot", [0]),
        ("RowsScanned", "snapshot", [5, 2]),
        # The exporter exposes only numbers.
        ("LastEvent", "streaming", []),
        ("CapturedTables", "streaming", []),
    ],
)
def test_jmx_metrics_match_panels_of_debezium_dashboard(
    attribute: str, context: str, values: list[float]
) -> None:
    client = client_of(CONTEXTS)
    name = f"debezium_metrics_{attribute}"
    assert selected(client, name, plugin="mongodb", name="shop", context=context) == values
    assert selected(client, name, context="other") == []


def test_jmx_row_counts_are_labelled_by_table() -> None:
    assert selected(client_of(CONTEXTS), "debezium_metrics_RowsScanned", table="shop.a") == [5]
    assert selected(client_of(CONTEXTS), "debezium_metrics_RowsScanned", table='a"b\\') == [2]


def test_all_jmx_attributes_are_served_as_json() -> None:
    assert client_of(CONTEXTS).get("/metrics.json").json == CONTEXTS


values = st.one_of(
    st.booleans(), st.integers(), st.floats(), st.text(), st.none(), st.lists(st.integers())
)


@given(st.dictionaries(st.text(), values), st.dictionaries(st.text(min_size=1), st.text()))
def test_any_attribute_names_and_values_render_valid_metrics(
    rows: dict[str, Any], tags: dict[str, str]
) -> None:
    client = client_of({"snapshot": {"RowsScanned": rows}}, tags)
    found = selected(client, "debezium_metrics_RowsScanned", plugin="mongodb")
    numbers = [float(each) for each in rows.values() if isinstance(each, bool | int | float)]
    assert list(map(str, found)) == list(map(str, numbers))


@pytest.mark.parametrize("path", ["/jolokia", "/jolokia/list", "/jolokia/" + "a" * 4000 + "!"])
def test_jolokia_protocol_is_not_served(path: str) -> None:
    assert client_of(CONTEXTS).get(path).status_code == 404
    assert client_of(CONTEXTS).post(path, json={"type": "list"}).status_code == 404

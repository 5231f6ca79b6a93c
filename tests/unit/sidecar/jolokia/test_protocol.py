"""What scrapers of JMX ask, as they ask it, and what they get."""

import json
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from hypothesis import given
from hypothesis import strategies as st

from sidecar.jolokia.pages import debezium_beans, jmx_pages
from sidecar.jolokia.protocol import answer, asked_by_document, asked_by_path, path_parts

STREAMING = "debezium.cassandra:type=connector-metrics,context=streaming,server=shop"
SNAPSHOT = STREAMING.replace("streaming", "snapshot")
CONTEXTS: dict[str, dict[str, Any]] = {
    "streaming": {"CommitLogFilename": "CommitLog-7-1.log", "CommitLogPosition": 41},
    "snapshot": {"RowsScanned": {"ks.a/b": 5}, "SnapshotRunning": False, "CapturedTables": ["t"]},
}


@pytest.fixture
def client() -> FlaskClient:
    app = Flask("test")
    app.register_blueprint(jmx_pages("cassandra", "shop", "1.2.3", lambda: CONTEXTS))
    return app.test_client()


def get(client: FlaskClient, path: str) -> Any:
    found = client.get(path)
    assert found.status_code == 200
    return found.json


def test_one_attribute(client: FlaskClient) -> None:
    found = get(client, f"/jolokia/read/{STREAMING}/CommitLogPosition")
    assert found.pop("timestamp") > 0
    assert found == {
        "request": {"type": "read", "mbean": STREAMING, "attribute": "CommitLogPosition"},
        "value": 41,
        "status": 200,
    }


def test_a_value_inside_of_an_attribute(client: FlaskClient) -> None:
    found = get(client, f"/jolokia/read/{SNAPSHOT}/RowsScanned/ks.a!/b")
    assert (found["value"], found["request"]["path"]) == (5, "ks.a!/b")


def test_all_attributes_and_several(client: FlaskClient) -> None:
    assert get(client, f"/jolokia/read/{STREAMING}")["value"] == CONTEXTS["streaming"]
    several = f"/jolokia/read/{SNAPSHOT}/SnapshotRunning,CapturedTables"
    assert get(client, several)["value"] == {"SnapshotRunning": False, "CapturedTables": ["t"]}


@pytest.mark.parametrize(
    "name",
    [
        "debezium.cassandra:server=shop,context=streaming,type=connector-metrics",
        STREAMING + ",task=0",
    ],
)
def test_the_order_of_keys_means_nothing_and_a_task_may_be_named(
    client: FlaskClient, name: str
) -> None:
    assert get(client, f"/jolokia/read/{name}/CommitLogPosition")["value"] == 41


def test_patterns_name_several_beans(client: FlaskClient) -> None:
    found = get(client, "/jolokia/read/debezium.*:type=connector-metrics,*/SnapshotRunning")
    assert found["value"] == {
        "debezium.cassandra:context=snapshot,server=shop,type=connector-metrics": {
            "SnapshotRunning": False
        }
    }
    assert len(get(client, "/jolokia/search/*:*")["value"]) == 2
    assert get(client, "/jolokia/search/java.lang:*")["value"] == []


def test_the_list_is_as_jmx2graphite_walks_it(client: FlaskClient) -> None:
    listed = get(client, "/jolokia/list?canonicalNaming=false")["value"]
    names = [f"{domain}:{keys}" for domain, beans in listed.items() for keys in beans]
    assert set(names) == {STREAMING, SNAPSHOT}
    requests = [
        {"type": "read", "mbean": f"{domain}:{keys}", "attribute": list(bean["attr"])}
        for domain, beans in listed.items()
        for keys, bean in beans.items()
    ]
    answers = client.post("/jolokia/read?ignoreErrors=true&canonicalNaming=false", json=requests)
    assert {each["request"]["mbean"]: each["value"] for each in answers.json or []} == {
        STREAMING: CONTEXTS["streaming"],
        SNAPSHOT: CONTEXTS["snapshot"],
    }
    types = listed["debezium.cassandra"][SNAPSHOT.partition(":")[2]]["attr"]
    assert {name: each["type"] for name, each in types.items()} == {
        "RowsScanned": "java.util.Map",
        "SnapshotRunning": "boolean",
        "CapturedTables": "[Ljava.lang.String;",
    }


def test_several_requests_as_telegraf_sends_them(client: FlaskClient) -> None:
    requests = [
        {"type": "read", "mbean": STREAMING, "attribute": ["CommitLogPosition"]},
        {"type": "read", "mbean": SNAPSHOT, "attribute": "RowsScanned", "path": "ks.a!/b"},
        {"type": "read", "mbean": "java.lang:type=Runtime", "attribute": "Uptime"},
    ]
    found = client.post(
        "/jolokia/read", data=json.dumps(requests), headers={"Content-type": "application/json"}
    )
    assert [each["status"] for each in found.json or []] == [200, 200, 404]
    assert [each.get("value") for each in found.json or []] == [{"CommitLogPosition": 41}, 5, None]
    assert [each["request"]["mbean"] for each in found.json or []][2] == "java.lang:type=Runtime"


def test_one_request_by_post_without_a_type_of_its_body(client: FlaskClient) -> None:
    body = json.dumps({"type": "READ", "mbean": STREAMING, "attribute": "CommitLogFilename"})
    for path in ("/jolokia", "/jolokia/"):
        assert (client.post(path, data=body).json or {})["value"] == "CommitLog-7-1.log"


@pytest.mark.parametrize(
    ("path", "status", "error"),
    [
        (f"/jolokia/read/{STREAMING}/Nothing", 404, "AttributeNotFoundException"),
        (f"/jolokia/read/{SNAPSHOT}/RowsScanned/none", 404, "Invalid path: none"),
        ("/jolokia/read/java.lang:type=Memory", 404, "InstanceNotFoundException"),
        ("/jolokia/read/nonsense", 400, "MalformedObjectNameException"),
        (f"/jolokia/write/{STREAMING}/CommitLogPosition/5", 403, "can only be read"),
        (f"/jolokia/exec/{STREAMING}/reset", 403, "can only be read"),
        ("/jolokia/dance", 400, "IllegalArgumentException"),
    ],
)
def test_unanswerable_jolokia_requests_return_an_error_inside(
    client: FlaskClient, path: str, status: int, error: str
) -> None:
    found = get(client, path)
    assert found["status"] == status
    assert error in found["error"]
    assert found["error"].startswith(found["error_type"])


def test_missing_attributes_are_passed_over_when_asked_for(client: FlaskClient) -> None:
    wanted = {"type": "read", "mbean": STREAMING, "attribute": ["CommitLogPosition", "Other"]}
    assert (client.post("/jolokia", json=wanted).json or {})["status"] == 404
    wanted["config"] = {"ignoreErrors": "true"}  # type: ignore[assignment]  # a JSON document
    value = (client.post("/jolokia", json=wanted).json or {})["value"]
    assert value == {"CommitLogPosition": 41, "Other": "ERROR: No such attribute: Other"}


def test_version_and_metrics_json(client: FlaskClient) -> None:
    assert get(client, "/jolokia/version")["value"]["agent"] == "1.2.3"
    assert get(client, "/jolokia")["value"] == get(client, "/jolokia/version")["value"]
    assert get(client, "/metrics.json") == CONTEXTS


def test_a_prefix_with_signs_is_quoted_as_kafka_does() -> None:
    (bean,) = debezium_beans("mongodb", "a:b*", {"streaming": {}})
    assert bean.name(canonical=False).endswith('server="a:b\\*"')


@given(st.lists(st.text(min_size=1), min_size=1))
def test_escaped_parts_are_read_back(parts: list[str]) -> None:
    escaped = "/".join(part.replace("!", "!!").replace("/", "!/") for part in parts)
    assert path_parts(escaped) == tuple(parts)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(
            st.sampled_from(["type", "mbean", "attribute", "path", "config", "x"]), inner
        )
    ),
)


@given(JSON, st.sampled_from(["read", "list", "search", "version", ""]))
def test_whatever_is_sent_is_answered(document: object, kind: str) -> None:
    beans = debezium_beans("cassandra", "shop", CONTEXTS)
    if isinstance(document, dict) and kind:
        document["type"] = kind
    said = answer(asked_by_document(document, {}), beans, "1", 0)
    assert said["status"] in (200, 400, 403, 404)
    json.dumps(said)


@given(st.text())
def test_whatever_is_asked_is_answered(path: str) -> None:
    beans = debezium_beans("cassandra", "shop", CONTEXTS)
    assert answer(asked_by_path(path, {}), beans, "1", 0)["status"] in (200, 400, 403, 404)

"""The view of a running sidecar, through the application and through a real socket."""

import gc
import json
import socket
import threading
import urllib.error
import urllib.request
from typing import Any

import pytest
from flask import Blueprint, Response, request
from flask.testing import FlaskClient
from waitress import trigger

from sidecar.errors import ConfigError
from sidecar.health.condition import Condition, State
from sidecar.http.server import HttpServer, create_app
from tests.support.agents.fake_status import HOST, FakeStatus


@pytest.fixture
def status() -> FakeStatus:
    return FakeStatus()


AWAY = Condition("sink_away", State.FAILING, "sink", "No broker answers.", "Start it.")
FULL = Condition("disk_full", State.DEGRADED, "offsets", "The disk is full.", "Make room.")


@pytest.fixture
def client(status: FakeStatus) -> FlaskClient:
    return create_app(status).test_client()


def test_buildinfo_contains_the_instance(client: FlaskClient) -> None:
    assert client.get("/buildinfo").json == {
        "service_name": "agent",
        "version": "1.2.3",
        "host": "host-1",
        "topic_prefix": "shop",
        "cluster": "lab",
        "node_id": "node-1",
        "datacenter": "dc1",
        "rack": "r1",
    }


@pytest.mark.parametrize("ok", [True, False])
def test_live_and_ready_return_200_or_503(
    client: FlaskClient, status: FakeStatus, ok: bool
) -> None:
    status.is_live = status.is_ready = ok
    for path in ("/live", "/ready"):
        answer = client.get(path)
        assert answer.status_code == (200 if ok else 503)
        said = json.loads(answer.text)
        assert said["status"] == ("ok" if ok else "failing")
        assert said["message"].endswith(".")


@pytest.mark.parametrize("conditions", [[], [FULL], [FULL, AWAY]])
def test_health_lists_every_condition_with_remedy(
    status: FakeStatus, conditions: list[Condition]
) -> None:
    """A degraded agent is not healthy, but ready."""
    status.conditions = conditions
    ordered = conditions[::-1]
    with HttpServer(status, HOST, 0) as server:
        found, document = answer_of(server, "/health")
        assert answer_of(server, "/ready")[0] == answer_of(server, "/live")[0] == 200
    assert found == (503 if conditions else 200)
    sink = {"status": "ok", "message": "It works.", "unacknowledged_events": 3}
    if AWAY in conditions:
        sink |= {"status": "failing", "message": "No broker answers. Start it."}
    offsets = {"status": "degraded", "message": "The disk is full. Make room."}
    assert document == {
        "status": ordered[0].state if conditions else "ok",
        "message": [
            "All is delivered.",
            "The disk is full.",
            "No broker answers. 1 more condition.",
        ][len(conditions)],
        **FakeStatus().about(),
        "conditions": [
            {
                **{"code": each.code, "status": each.state, "component": each.component},
                **{"message": each.message, "remedy": each.remedy},
            }
            for each in ordered
        ],
        "components": {"sink": sink, **({"offsets": offsets} if conditions else {})},
    }


def answer_of(server: HttpServer, path: str) -> tuple[int, Any]:
    try:
        with urllib.request.urlopen(f"http://{HOST}:{server.port}{path}") as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def test_ping_offsets_and_metrics_are_served(client: FlaskClient) -> None:
    assert client.get("/ping").text == "pong"
    assert client.get("/offsets").json == {"stored": {"a.log": 5}}
    answer = client.get("/metrics")
    assert answer.text == "cdc_sink_up 1.0\n"
    assert answer.content_type.startswith("text/plain; version=0.0.4")


def test_unknown_paths_and_methods_are_rejected_with_help(client: FlaskClient) -> None:
    for answer in (client.get("/nope"), client.post("/ping")):
        assert answer.status_code in (404, 405)
        assert answer.mimetype == "text/plain"
        assert "/health" in answer.text


def test_deeply_nested_json_counts_as_invalid(status: FakeStatus) -> None:
    pages = Blueprint("echo", __name__)

    @pages.post("/echo")
    def echo() -> Response:
        return Response(str(request.get_json(silent=True)))

    client = create_app(status, [pages]).test_client()
    answer = client.post("/echo", data="[" * 50_000, content_type="application/json")
    assert (answer.status_code, answer.text) == (200, "None")


def test_requests_leave_little_garbage(client: FlaskClient) -> None:
    """A garbage collection blocks the interpreter."""
    gc.collect()
    gc.disable()
    try:
        for _ in range(100):
            for path in ("/nope", "/health", "/metrics"):
                client.get(path)
        assert gc.collect() < 3_000
    finally:
        gc.enable()


def test_close_cuts_open_connections_and_frees_the_port(status: FakeStatus) -> None:
    server = HttpServer(status, HOST, 0)
    server.start()
    port = server.port
    with socket.create_connection((HOST, port)) as idle:
        idle.sendall(b"GET /ping HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b"200 OK" in idle.recv(4096)
        server.close()
        while idle.recv(4096):
            pass
    assert not any(thread.name == "http" for thread in threading.enumerate())
    with HttpServer(status, HOST, port):
        pass


@pytest.fixture
def eager_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop sees new work before the thread that adds the work wakes the loop."""
    pull_at_once = vars(trigger.trigger)["_physical_pull"]

    def pull_late(pulled: Any) -> None:
        pull_at_once(pulled)
        while not (pulled.lock.locked() or pulled._closed):
            pass
        pull_at_once(pulled)

    monkeypatch.setattr(trigger.trigger, "_physical_pull", pull_late)


@pytest.mark.usefixtures("eager_loop")
def test_close_ends_server_while_loop_is_awake(status: FakeStatus) -> None:
    server = HttpServer(status, HOST, 0)
    server.start()
    server.close()
    assert not any(thread.name == "http" for thread in threading.enumerate())


def test_http_port_in_use_is_a_config_error(status: FakeStatus) -> None:
    with (
        HttpServer(status, HOST, 0) as first,
        pytest.raises(ConfigError, match=rf"{HOST}:{first.port}.*http\.port"),
    ):
        HttpServer(status, HOST, first.port).start()


def test_foreign_http_address_is_a_config_error(status: FakeStatus) -> None:
    with pytest.raises(ConfigError, match=r"http\.host=256\.1\.1\.1"):
        HttpServer(status, "256.1.1.1", 0).start()


def test_secrets_are_hidden_in_json_pages(status: FakeStatus) -> None:
    """Metrics contain no messages."""
    message = "The login with open sesame failed."
    status.conditions = [Condition("login", State.FAILING, "sink", message, "Correct it.")]
    app = create_app(status, hide=lambda text: text.replace("open sesame", "********"))
    health = app.test_client().get("/health")
    assert "sesame" not in health.text
    assert health.json is not None
    assert "********" in health.json["components"]["sink"]["message"]
    assert health.status_code == 503
    assert app.test_client().get("/metrics").text == "cdc_sink_up 1.0\n"

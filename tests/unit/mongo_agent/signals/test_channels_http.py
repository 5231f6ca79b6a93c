"""Signals over HTTP through a real socket, to a simulated pipeline."""

from collections.abc import Iterator

import pytest
from flask.testing import FlaskClient

from mongo_agent.cli.snapshot import SignalClient
from mongo_agent.signals.channels import signal_pages
from mongo_agent.snapshot.progress import SnapshotProgress
from sidecar.errors import UnavailableError
from sidecar.http.address import local_url
from sidecar.http.server import HttpServer, create_app
from tests.support.agents.signalled_agent import Agent

EXECUTE = {"type": "execute-snapshot", "data": {"data-collections": ["shop.a"]}}


@pytest.fixture
def agent() -> Agent:
    return Agent()


@pytest.fixture
def pages(agent: Agent) -> FlaskClient:
    return create_app(agent, [signal_pages(agent.send, agent.copies, wait_s=0.01)]).test_client()


@pytest.fixture
def client(agent: Agent) -> Iterator[SignalClient]:
    blueprint = signal_pages(agent.send, agent.copies)
    with HttpServer(agent, "127.0.0.1", 0, [blueprint]) as server:
        yield SignalClient(local_url("127.0.0.1", server.port))


def test_http_signal_is_accepted(pages: FlaskClient, agent: Agent) -> None:
    reply = pages.post("/signals", json=EXECUTE)
    assert reply.status_code == 202
    assert reply.get_json()["accepted"] is True
    assert not agent.progress.is_idle
    assert pages.get("/snapshot").get_json()["streams"][""]["requests"] == 1
    assert pages.get("/ping").text == "pong"


def test_invalid_signal_is_rejected_with_a_message(pages: FlaskClient) -> None:
    reply = pages.post("/signals", json={"type": "start"})
    assert reply.status_code == 422
    assert "The type 'start' is unknown" in reply.get_json()["message"]


@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        (b"{", "application/json", 400),
        (b"[]", "application/json", 400),
        (b'{"type": "pause-snapshot"}', "text/plain", 415),
        (b"type=pause-snapshot", "application/x-www-form-urlencoded", 415),
    ],
)
def test_invalid_signal_body_is_rejected(
    pages: FlaskClient, agent: Agent, body: bytes, content_type: str, status: int
) -> None:
    """A cross-site form cannot send a JSON content type."""
    reply = pages.post("/signals", data=body, content_type=content_type)
    assert reply.status_code == status
    assert reply.get_json()["accepted"] is False
    assert agent.progress == SnapshotProgress()


def test_agent_without_answer_is_reported(pages: FlaskClient, agent: Agent) -> None:
    agent.is_silent = True
    reply = pages.post("/signals", json=EXECUTE)
    assert reply.status_code == 503
    assert "it is starting or stopping" in reply.get_json()["message"]


def test_client_controls_running_agent(client: SignalClient) -> None:
    assert client.send("pause-snapshot", {}).is_accepted
    refused = client.send("stop-snapshot", {})
    assert not refused.is_accepted
    assert "must be `incremental`" in refused.message
    assert client.snapshots()[""]["is_paused"] is True


def test_client_reports_a_missing_agent() -> None:
    with pytest.raises(UnavailableError, match=r"No agent answers at http://127\.0\.0\.1:1:"):
        SignalClient(local_url("0.0.0.0", 1)).snapshots()

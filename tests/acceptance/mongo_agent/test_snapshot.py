"""`mongo-agent snapshot` against the HTTP endpoints of an agent."""

import json
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from mongo_agent.cli.snapshot import lines, progress_bars, snapshot
from mongo_agent.config.loading import load_config
from mongo_agent.signals.channels import signal_pages
from mongo_agent.snapshot.records import SnapshotOutcome, SnapshotReason, SnapshotRequest
from mongo_agent.snapshot.view import view_of
from sidecar.cli.invocation import Invocation
from sidecar.errors import SidecarError, UnavailableError
from sidecar.http.server import HttpServer
from tests.support.agents.signalled_agent import Agent
from tests.support.mongodb.given_streams import selected_collection

REQUEST = SnapshotRequest(SnapshotReason.SIGNAL, (".*",))


@pytest.fixture
def agent() -> Agent:
    return Agent()


@pytest.fixture
def url(agent: Agent) -> Iterator[str]:
    pages = signal_pages(agent.send, agent.copies)
    with HttpServer(agent, "127.0.0.1", 0, [pages]) as server:
        yield f"http://127.0.0.1:{server.port}"


def run(*arguments: str) -> Result:
    invocation: Invocation[Any] = Invocation("mongo-agent", load_config, lambda _: [])
    return CliRunner().invoke(snapshot, arguments, obj=invocation)


def test_snapshot_start_sends_collections_and_filter(agent: Agent, url: str) -> None:
    query = '{"n": 1}'
    result = run("start", "--url", url, "shop.a", "shop.b", "--filter", "shop.a", query)
    assert result.exit_code == 0, result.output
    assert "shop.a, shop.b" in result.output
    (request,) = agent.progress.requests
    assert request.filters == (("shop.a", query),)


def test_snapshot_commands_pause_resume_and_stop(agent: Agent, url: str) -> None:
    assert "Snapshots are paused" in run("pause", "--url", url).output
    assert agent.progress.is_paused
    assert run("resume", "--url", url).output == "Snapshots resume.\n"
    assert "No snapshot of these collections" in run("stop", "--url", url, "shop.a").output
    assert "No snapshot of these collections" in run("stop", "--url", url, "--all").output


def test_rejected_snapshot_signal_raises_its_error(url: str) -> None:
    result = run("start", "--url", url, "shop.(a")
    assert isinstance(result.exception, SidecarError)
    assert "is not a regular expression" in str(result.exception)


def test_snapshot_status_reports_an_unreachable_agent() -> None:
    result = run("status", "--url", "http://127.0.0.1:1")
    assert isinstance(result.exception, UnavailableError)


def test_snapshot_status_is_printed_as_text_and_json(agent: Agent, url: str) -> None:
    assert run("status", "--url", url, "--follow").output == "No snapshot is running.\n"
    selected = [
        selected_collection(REQUEST, "a", estimated=8),
        selected_collection(REQUEST, "v", skipped="it is a view"),
    ]
    agent.progress = agent.progress.requested(REQUEST).resolved(REQUEST, selected)
    assert run("status", "--url", url).output.splitlines() == [
        "shop.v skipped: 0 documents (it is a view)",
        "shop.a waiting: 0 of about 8 documents",
        "1 collections remaining.",
    ]
    found = json.loads(run("status", "--url", url, "--json").output)
    assert found[""]["remaining_collections"] == 1


def test_snapshot_progress_bars_cover_every_state() -> None:
    selected = [
        selected_collection(REQUEST, "a", estimated=8),
        selected_collection(REQUEST, "b", '{"n": 1}'),
        selected_collection(REQUEST, "v", skipped="it is a view"),
    ]
    progress = Agent().progress.requested(REQUEST).resolved(REQUEST, selected)
    progress = progress.planned(1, [b"x"], is_whole=True)
    progress = progress.delivered(1, progress.collections[0].chunks[0], 2)
    view = view_of(progress, delivered=2, elapsed_s=1000)
    text = StringIO()
    Console(file=text, width=120).print(progress_bars({"shard0": view.values()}))
    shown = text.getvalue()
    assert "shop.a" in shown
    assert "25%" in shown
    assert "shard0: 2 collections remaining, about 50 min." in shown
    done = progress.ended(1, SnapshotOutcome.COPIED).ended(2, SnapshotOutcome.STOPPED).paused(True)
    assert list(lines({"": view_of(done).values()}))[-1] == "No snapshot is running."
    paused = view_of(progress.paused(True)).values()
    assert list(lines({"": paused}))[-1] == "2 collections remaining; snapshots are paused."

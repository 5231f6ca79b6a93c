"""The fleet in a running agent: asked when somebody looks, never by a request itself."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from sidecar.errors import ConfigError, UnavailableError
from sidecar.fleet.report import AgentReport, report_of
from sidecar.fleet.target import Target
from sidecar.fleet.watcher import CACHED_S, FleetWatcher, configured_targets
from tests.support.agents.fake_agents import health
from tests.support.servers.processes import wait_until

TARGETS = [Target("node-1", "http://node-1:8000")]


class Peers:
    """Answers for all targets, and counts the rounds."""

    def __init__(self) -> None:
        self.rounds = 0
        self.now_s = 100.0
        self.error: Exception | None = None

    def targets(self) -> Sequence[Target]:
        if self.error is not None:
            raise self.error
        return TARGETS

    def ask(self, targets: Sequence[Target]) -> list[AgentReport]:
        self.rounds += 1
        return [report_of(target, health()) for target in targets]

    def watcher(self) -> FleetWatcher:
        return FleetWatcher(self.targets, ask=self.ask, clock=lambda: self.now_s)


def states(document: dict[str, Any]) -> list[str]:
    return [each["state"] for each in document["agents"]]


def test_before_the_first_round_the_document_is_loading() -> None:
    assert Peers().watcher().document() == {
        "at": None,
        "error": "",
        "is_loading": True,
        "summary": None,
        "agents": [],
    }


def test_nobody_is_asked_until_somebody_looks() -> None:
    peers = Peers()
    with peers.watcher() as watcher:
        assert peers.rounds == 0
        watcher.document()
        wait_until(lambda: states(watcher.document()) == ["ok"], "a round")
        assert peers.rounds == 1


def test_an_answer_is_used_for_seconds() -> None:
    peers = Peers()
    with peers.watcher() as watcher:
        watcher.document()
        wait_until(lambda: peers.rounds == 1, "a round")
        wait_until(lambda: not watcher.document()["is_loading"], "its view")
        peers.now_s += CACHED_S - 0.1
        watcher.document()
        peers.now_s += 0.2
        watcher.document()
        wait_until(lambda: peers.rounds == 2, "the next round")


@pytest.mark.parametrize(
    "error", [UnavailableError("the name has no address"), RuntimeError("a fault")]
)
def test_an_error_keeps_the_last_report(error: Exception) -> None:
    peers = Peers()
    watcher = peers.watcher()
    watcher.round()
    peers.error = error
    watcher.round()
    document = watcher.document()
    assert states(document) == ["ok"]
    assert str(error) in str(document["error"])
    peers.error = None
    watcher.round()
    assert watcher.document()["error"] == ""


def test_the_configured_targets_are_those_of_file_and_name(tmp_path: Path) -> None:
    file = tmp_path / "nodes.txt"
    file.write_text("127.0.0.1:8123\n10.0.0.1\n")
    found = configured_targets(file, "127.0.0.1:8123")
    assert [target.url for target in found] == ["http://127.0.0.1:8123", "http://10.0.0.1:8000"]
    assert configured_targets(None, None) == []
    with pytest.raises(ConfigError, match="No such file"):
        configured_targets(tmp_path / "missing", None)

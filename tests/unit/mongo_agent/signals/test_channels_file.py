"""Signals from a file are applied once, even across restarts."""

import json
from concurrent.futures import Future
from pathlib import Path

import pytest

from mongo_agent.capture.namespaces import Namespaces
from mongo_agent.signals.channels import SignalFile, file_signals
from mongo_agent.signals.signal import Signal, SignalResult
from mongo_agent.snapshot.apply_signal import apply_signal
from mongo_agent.snapshot.progress import SnapshotProgress
from tests.support.servers.processes import wait_until


def line(name: str, end: str = "\n") -> str:
    data = {"data-collections": [f"shop.{name}"]}
    return json.dumps({"id": name, "type": "execute-snapshot", "data": data}) + end


class Agent:
    """Applies signals like the pipeline; without `stores` it ends before it answers."""

    def __init__(self, progress: SnapshotProgress | None = None, *, stores: bool = True) -> None:
        self.progress = progress or SnapshotProgress()
        self._stores = stores

    def send(self, signal: Signal) -> Future[SignalResult]:
        future: Future[SignalResult] = Future()
        self.progress, answer = apply_signal(self.progress, signal, Namespaces())
        if self._stores:
            future.set_result(answer)
        return future

    @property
    def asked(self) -> list[str | None]:
        return [each.signal for each in self.progress.requests]


def watched(path: Path, agent: Agent) -> SignalFile:
    return SignalFile(path, agent.send, interval_s=0.01)


def wait_until_empty(folder: Path) -> None:
    wait_until(lambda: not any(folder.iterdir()), "an empty directory")


def test_lines_become_signals_with_unique_occurrences() -> None:
    content = (line("a") + "\n" + line("b", "")).encode()
    first, second = file_signals(content, "s.1.taken")
    assert (first.id, first.type, first.channel) == ("a", "execute-snapshot", "file")
    assert (first.occurrence, second.occurrence) == ("s.1.taken:0", "s.1.taken:2")


@pytest.mark.parametrize("noise", [b"{", b"[]", b"\xff\xfe", b"nothing"])
def test_invalid_line_is_rejected_and_skipped(noise: bytes) -> None:
    (signal,) = file_signals(noise, "s.1.taken")
    _, answer = apply_signal(SnapshotProgress(), signal, Namespaces())
    assert not answer.is_accepted


def test_signal_files_are_processed_and_removed(tmp_path: Path) -> None:
    path, agent = tmp_path / "signals.txt", Agent()
    with watched(path, agent):
        path.write_text(line("a") + line("b", end=""))
        wait_until_empty(tmp_path)
        path.write_text(line("a"))
        wait_until_empty(tmp_path)
    assert agent.asked == ["a", "b", "a"]


def test_stored_unanswered_signal_is_not_applied_twice(tmp_path: Path) -> None:
    path, first = tmp_path / "signals.txt", Agent(stores=False)
    path.write_text(line("a") + line("b"))
    with watched(path, first):
        wait_until(lambda: first.asked == ["a"], "the first signal")
    assert [each.suffix for each in tmp_path.iterdir()] == [".taken"]
    second = Agent(first.progress)
    with watched(path, second):
        wait_until_empty(tmp_path)
    assert second.asked == ["a", "b"]


def test_unanswered_signal_is_applied_by_the_next_agent(tmp_path: Path) -> None:
    (tmp_path / "signals.txt.7.taken").write_text(line("a"))
    agent = Agent()
    with watched(tmp_path / "signals.txt", agent):
        wait_until_empty(tmp_path)
    assert agent.asked == ["a"]


def test_unwritable_directory_is_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path, agent = tmp_path / "signals.txt", Agent()
    path.mkdir()
    with watched(path, agent):
        wait_until(lambda: bool(caplog.records), "a line of the log")
    assert "cannot be processed: Is a directory" in caplog.text

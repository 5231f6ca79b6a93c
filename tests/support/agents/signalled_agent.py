"""An HTTP server that takes signals, without a pipeline."""

from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

from mongo_agent.capture.namespaces import Namespaces
from mongo_agent.signals.signal import Signal, SignalResult
from mongo_agent.snapshot.apply_signal import apply_signal
from mongo_agent.snapshot.progress import SnapshotProgress
from mongo_agent.snapshot.view import view_of
from tests.support.agents.fake_status import FakeStatus


class Agent(FakeStatus):
    """Answers at once, or never."""

    def __init__(self) -> None:
        super().__init__()
        self.progress = SnapshotProgress()
        self.is_silent = False

    def send(self, signal: Signal) -> Future[SignalResult]:
        future: Future[SignalResult] = Future()
        if not self.is_silent:
            self.progress, answer = apply_signal(self.progress, signal, Namespaces())
            future.set_result(answer)
        return future

    def copies(self) -> Mapping[str, Mapping[str, Any]]:
        return {"": view_of(self.progress).values()}

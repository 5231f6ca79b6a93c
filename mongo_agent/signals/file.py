"""The signal channel `file`: one JSON object a line, {"id", "type", "data"}, as in Debezium.

The agent renames the file before it reads it, so later writes create a new file:

    signals.txt ──rename──▶ signals.txt.<nanoseconds>.taken ──processed, line by line──▶ deleted

A result means that the effect of the signal is stored. After a restart the agent first processes
leftover files; it recognises stored signals by file name and line number. The agent renames a file
that ends in a newline, or that did not grow between two polls.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path

from mongo_agent.signals.signal import Signal, SignalResult, is_answered, parse_signal_text
from sidecar.files.regular import read_regular
from sidecar.logs import RateLimitedLog
from sidecar.process.worker import Worker

logger = logging.getLogger(__name__)

CHANNEL = "file"
_MAX_BYTES = 16 << 20
_SUFFIX = ".taken"
_POLL_INTERVAL_S = 0.5


def signals_of(content: bytes, taken_as: str) -> Iterator[Signal]:
    """Parse the signals of a renamed file."""
    for number, line in enumerate(content.splitlines()):
        if line.strip():
            yield parse_signal_text(line, CHANNEL, occurrence=f"{taken_as}:{number}")


class SignalFile(Worker):
    """Passes signals of a file to `send` and waits for each result."""

    def __init__(
        self,
        path: Path,
        send: Callable[[Signal], Future[SignalResult]],
        *,
        interval_s: float = _POLL_INTERVAL_S,
    ) -> None:
        super().__init__("signal-file", self._run, join_s=None)
        self._path = path
        self._send = send
        self._interval_s = interval_s
        self._repeated = RateLimitedLog(logger)
        self._seen_size = 0

    def _run(self, stopped: threading.Event) -> None:
        while not stopped.is_set():
            try:
                self._poll()
                self._repeated.resolved("file", "The signal file is readable again.")
            except OSError as error:
                message = (
                    f"signal.file: {self._path} cannot be processed: {error.strerror}. Retrying."
                )
                self._repeated.log("file", message)
            stopped.wait(self._interval_s)

    def _poll(self) -> None:
        for taken in self._leftovers():
            self._process(taken)
        if self._is_whole():
            taken = self._path.with_name(f"{self._path.name}.{time.time_ns()}{_SUFFIX}")
            self._path.replace(taken)
            self._process(taken)

    def _leftovers(self) -> list[Path]:
        return sorted(self._path.parent.glob(f"{self._path.name}.*{_SUFFIX}"))

    def _is_whole(self) -> bool:
        """Whether the file has content and no writer appears to be active."""
        try:
            content = read_regular(self._path, _MAX_BYTES)
        except FileNotFoundError:
            self._seen_size = 0
            return False
        seen, self._seen_size = self._seen_size, len(content)
        return bool(content) and (content.endswith(b"\n") or seen == len(content))

    def _process(self, taken: Path) -> None:
        """Process a renamed file, including lines that a writer adds with the file still open."""
        done = b""
        while (content := read_regular(taken, _MAX_BYTES)) != done:
            for signal in signals_of(content, taken.name):
                if not is_answered(self._send(signal), lambda: self.is_stopping):
                    return
            done = content
        taken.unlink()

"""Signals from a file, a line of JSON each, as Debezium takes them: {"id", "type", "data"}.

The file is given another name before it is read, so what is written meanwhile is a file of its own:

    signals.txt ──rename──▶ signals.txt.<nanoseconds>.taken ──answered, line by line──▶ removed

An answer says that what the signal asks for is stored. What an agent left behind when it ended is
taken first; a signal that was stored is known again by the name of the file and the number of the
line. A file is taken when it ends in a line break, or
when nothing was added to it between two looks.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from pathlib import Path
from types import TracebackType
from typing import Self

from mongo_agent.documents.extended_json import parse_json
from mongo_agent.signals.signal import Signal, SignalResult, parse_signal
from sidecar.files.regular import read_regular
from sidecar.logs import RateLimitedLog
from sidecar.runtime.worker import Worker

logger = logging.getLogger(__name__)

CHANNEL = "file"
_MAX_BYTES = 16 << 20
_SUFFIX = ".taken"
_LOOK_INTERVAL_S = 0.5
_ANSWER_LOOK_S = 1.0


def signals_of(content: bytes, taken_as: str) -> Iterator[Signal]:
    """The signals of a file that was taken under a name. A line that is no object gives a signal
    without a type, which is refused."""
    for number, line in enumerate(content.splitlines()):
        if not line.strip():
            continue
        try:
            document = parse_json(line)
        except ValueError:
            document = None
        named = document if isinstance(document, dict) else {}
        yield parse_signal(named, CHANNEL, occurrence=f"{taken_as}:{number}")


class SignalFile:
    """`with SignalFile(path, send):` gives signals to `send` and waits for each answer."""

    def __init__(
        self,
        path: Path,
        send: Callable[[Signal], Future[SignalResult]],
        *,
        interval_s: float = _LOOK_INTERVAL_S,
    ) -> None:
        self._path = path
        self._send = send
        self._interval_s = interval_s
        self._repeated = RateLimitedLog(logger)
        self._seen_size = 0
        self._worker = Worker("signal-file", self._run, join_s=None)

    def __enter__(self) -> Self:
        self._worker.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._worker.stop()

    def _run(self, stopped: threading.Event) -> None:
        while not stopped.is_set():
            try:
                self._look()
                self._repeated.resolved("file", "The file of signals is read again.")
            except OSError as error:
                sentence = f"The file of signals {self._path} cannot be taken: {error.strerror}."
                self._repeated.log("file", sentence)
            stopped.wait(self._interval_s)

    def _look(self) -> None:
        for taken in self._left():
            self._answer(taken)
        if self._is_whole():
            taken = self._path.with_name(f"{self._path.name}.{time.time_ns()}{_SUFFIX}")
            self._path.replace(taken)
            self._answer(taken)

    def _left(self) -> list[Path]:
        return sorted(self._path.parent.glob(f"{self._path.name}.*{_SUFFIX}"))

    def _is_whole(self) -> bool:
        """Whether there is something, and nobody seems to be writing it."""
        try:
            content = read_regular(self._path, _MAX_BYTES)
        except FileNotFoundError:
            self._seen_size = 0
            return False
        seen, self._seen_size = self._seen_size, len(content)
        return bool(content) and (content.endswith(b"\n") or seen == len(content))

    def _answer(self, taken: Path) -> None:
        """Who had the file open when it was taken may have added to it since."""
        done = b""
        while (content := read_regular(taken, _MAX_BYTES)) != done:
            for signal in signals_of(content, taken.name):
                if not self._is_answered(signal):
                    return
            done = content
        taken.unlink()

    def _is_answered(self, signal: Signal) -> bool:
        """False when the agent ends before: the signal is taken at its next start."""
        future = self._send(signal)
        while not self._worker.is_stopping:
            try:
                future.result(_ANSWER_LOOK_S)
            except FutureTimeoutError:
                continue
            except CancelledError:
                return False
            return True
        return False

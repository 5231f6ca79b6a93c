"""The stdout sink: one JSON line per event, acknowledged when the pipe has accepted it."""

import errno
import os
import select
import sys
import time
from typing import Any

from sidecar.errors import SinkError
from sidecar.events import NumberedBatch
from sidecar.sinks.base import DeliveryResult, SinkState

_CHUNK_EVENTS = 1000


class StdoutSink:
    """Writes chunks of lines, in parts that a pipe accepts without blocking."""

    def __init__(self, descriptor: int | None = None) -> None:
        """`descriptor` replaces standard output in tests."""
        self._given_descriptor = descriptor
        self._descriptor = -1
        self._pending = memoryview(b"")
        self._numbers = range(0)
        self._acknowledged: list[range] = []
        self._events = 0

    def open(self) -> None:
        if self._given_descriptor is None:
            sys.stdout.flush()
            self._descriptor = sys.stdout.fileno()
        else:
            self._descriptor = self._given_descriptor

    def send(self, numbered: NumberedBatch[Any, Any], start: int, deadline_s: float) -> int:
        """Accept chunks, each once the previous chunk is written."""
        until_s = time.monotonic() + deadline_s
        taken = 0
        while start + taken < len(numbered.batch):
            if not self._write(until_s - time.monotonic()):
                break
            first = start + taken
            stop = min(len(numbered.batch), first + _CHUNK_EVENTS)
            self._pending = memoryview(numbered.batch.ndjson(first, stop))
            self._numbers = range(numbered.first + first, numbered.first + stop)
            taken += stop - first
        self._write(until_s - time.monotonic())
        return taken

    def poll(self, timeout_s: float) -> DeliveryResult:
        self._write(timeout_s)
        outcome = DeliveryResult(acknowledged=tuple(self._acknowledged))
        self._acknowledged.clear()
        return outcome

    def state(self) -> SinkState:
        if self._pending:
            return SinkState(False, "the reader of standard output is too slow")
        return SinkState(True, f"{self._events} events were written to standard output")

    def dead_letter(self, number: int) -> None:
        """Does nothing, because this sink stores no positions."""

    def close(self, deadline_s: float) -> DeliveryResult:
        try:
            return self.poll(deadline_s)
        except SinkError:
            return DeliveryResult(acknowledged=tuple(self._acknowledged))
        finally:
            self._pending = memoryview(b"")
            self._numbers = range(0)
            self._acknowledged.clear()

    def _write(self, timeout_s: float) -> bool:
        """Write the pending chunk. Return True once it is written completely."""
        until_s = time.monotonic() + timeout_s
        while self._pending:
            wait_s = max(0.0, until_s - time.monotonic())
            if not select.select([], [self._descriptor], [], wait_s)[1]:
                return False
            try:
                # A ready pipe accepts PIPE_BUF bytes without blocking.
                written = os.write(self._descriptor, self._pending[: select.PIPE_BUF])
            except OSError as error:
                if error.errno == errno.EAGAIN:
                    continue
                raise SinkError(
                    f"Standard output cannot be written: {error.strerror}. "
                    "Its reader has exited. Restart both."
                ) from error
            self._pending = self._pending[written:]
        if self._numbers:
            self._events += len(self._numbers)
            self._acknowledged.append(self._numbers)
        self._numbers = range(0)
        return True

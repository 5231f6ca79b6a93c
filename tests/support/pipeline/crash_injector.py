"""A crash of the process before or after the effect that a test chooses."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agent.quarantine.quarantine import Quarantine
from agent.transfer.transfer import Transfer
from tests.support.pipeline.fakes import FakeStore
from tests.support.sinks.memory_sink import MemorySink


def failing(number: int) -> Callable[..., Any]:
    """An operation on files that fails with this `errno`."""

    def fail(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    return fail


class Killed(BaseException):
    """The process was killed."""


class CrashInjector:
    """Raises `Killed` after a chosen number of effects."""

    def __init__(self) -> None:
        self.effects_left: int | None = None

    def step(self) -> None:
        if self.effects_left is None:
            return
        if self.effects_left == 0:
            self.effects_left = None
            raise Killed
        self.effects_left -= 1

    def store(self) -> FakeStore:
        store = FakeStore()
        self._around(store, "save")
        return store

    def transfer(self, transfer: Transfer) -> Transfer:
        self._in_between(transfer, "transfer")
        return transfer

    def quarantine(self, directory: Path) -> Quarantine:
        quarantine = Quarantine(directory, 10_000_000, "1.2.3")
        self._around(quarantine, "record_ranges", "add_dead_letter", "requeue")
        self._in_between(quarantine, "add_segment")
        return quarantine

    def sink(self) -> MemorySink:
        """Acknowledges on demand."""
        sink = MemorySink(automatic=False)
        self._around(sink, "send", "poll")
        return sink

    def _around(self, part: object, *methods: str) -> None:
        for name in methods:
            setattr(part, name, self._crashing(getattr(part, name)))

    def _in_between(self, part: object, method: str) -> None:
        """Also between a segment and its index, the last argument."""
        move = self._crashing(getattr(part, method))

        def crashing(*arguments: Any) -> Any:
            *others, idx = arguments
            move(*others, idx.with_name("no-such-file"))
            return move(*arguments)

        setattr(part, method, crashing)

    def _crashing(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def crashing(*arguments: Any) -> Any:
            self.step()
            result = method(*arguments)
            self.step()
            return result

        return crashing

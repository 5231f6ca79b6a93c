"""A crash of the process before or after the effect that a test chooses."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agent.cdc_raw.names import SegmentName
from agent.quarantine.quarantine import Quarantine, QuarantineSource
from agent.quarantine.reason import LostRange
from agent.transfer.base import Transfer
from sidecar.dead_letters.dead_letter import DeadLetter
from sidecar.events import NumberedBatch
from sidecar.sinks.base import DeliveryResult
from tests.support.pipeline.fakes import FakeStore
from tests.support.sinks.memory_sink import MemorySink


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


class CrashingStore(FakeStore):
    def __init__(self, injector: CrashInjector) -> None:
        super().__init__()
        self._injector = injector

    def save(self, values: Mapping[str, str], /) -> None:
        self._injector.step()
        super().save(values)
        self._injector.step()


class CrashingTransfer(Transfer):
    """Crashes before the transfer, between segment and index, or after both."""

    def __init__(self, injector: CrashInjector, transfer: Transfer) -> None:
        self._injector = injector
        self._transfer = transfer

    def transfer(self, log: Path, idx: Path) -> None:
        self._injector.step()
        self._transfer.transfer(log, idx.with_name("no-such-file"))
        self._injector.step()
        self._transfer.transfer(log, idx)
        self._injector.step()


class CrashingQuarantine(Quarantine):
    def __init__(self, injector: CrashInjector, directory: Path) -> None:
        super().__init__(directory, 10_000_000, "1.2.3")
        self._injector = injector

    def record_ranges(self, name: SegmentName, ranges: Sequence[LostRange]) -> bool:
        self._injector.step()
        is_new = super().record_ranges(name, ranges)
        self._injector.step()
        return is_new

    def add_dead_letters(self, source: QuarantineSource, events: Sequence[DeadLetter]) -> bool:
        self._injector.step()
        is_kept = super().add_dead_letters(source, events)
        self._injector.step()
        return is_kept

    def add_segment(self, name: SegmentName, log: Path, idx: Path) -> bool:
        self._injector.step()
        super().add_segment(name, log, idx.with_name("no-such-file"))
        self._injector.step()
        is_taken = super().add_segment(name, log, idx)
        self._injector.step()
        return is_taken

    def requeue(self, name: SegmentName, cdc_raw: Path) -> bool:
        self._injector.step()
        is_back = super().requeue(name, cdc_raw)
        self._injector.step()
        return is_back


class CrashingSink(MemorySink):
    """Acknowledges on demand."""

    def __init__(self, injector: CrashInjector) -> None:
        super().__init__(automatic=False)
        self._injector = injector

    def send(self, numbered: NumberedBatch[Any, Any], start: int, deadline_s: float) -> int:
        self._injector.step()
        taken = super().send(numbered, start, deadline_s)
        self._injector.step()
        return taken

    def poll(self, timeout_s: float) -> DeliveryResult:
        self._injector.step()
        return super().poll(timeout_s)

"""Effects that end the process: before or after any of them, at the one that a test chooses."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agent.cdc_raw import SegmentName
from agent.quarantine import LostRange, Quarantine
from agent.quarantine.quarantine import QuarantineSource
from agent.transfer import Transfer
from sidecar.dead_letters.dead_letter import DeadLetter
from sidecar.events import Numbered
from sidecar.sinks.base import DeliveryResult
from tests.support.memory_sink import MemorySink
from tests.support.pipeline_fakes import FakeStore


class Killed(BaseException):
    """The process is gone."""


class Doom:
    """Counts effects down to the last one."""

    def __init__(self) -> None:
        self.effects_left: int | None = None

    def step(self) -> None:
        if self.effects_left is None:
            return
        if self.effects_left == 0:
            self.effects_left = None
            raise Killed
        self.effects_left -= 1


class DoomedStore(FakeStore):
    def __init__(self, doom: Doom) -> None:
        super().__init__()
        self._doom = doom

    def save(self, values: Mapping[str, str], /) -> None:
        self._doom.step()
        super().save(values)
        self._doom.step()


class DoomedTransfer(Transfer):
    """Dies before it, after the segment and before the index, and after both."""

    def __init__(self, doom: Doom, transfer: Transfer) -> None:
        self._doom = doom
        self._transfer = transfer

    def transfer(self, log: Path, idx: Path) -> None:
        self._doom.step()
        self._transfer.transfer(log, idx.with_name("no-such-file"))
        self._doom.step()
        self._transfer.transfer(log, idx)
        self._doom.step()


class DoomedQuarantine(Quarantine):
    def __init__(self, doom: Doom, directory: Path) -> None:
        super().__init__(directory, 10_000_000, "1.2.3")
        self._doom = doom

    def record_ranges(self, name: SegmentName, ranges: Sequence[LostRange]) -> bool:
        self._doom.step()
        is_new = super().record_ranges(name, ranges)
        self._doom.step()
        return is_new

    def add_dead_letters(self, source: QuarantineSource, events: Sequence[DeadLetter]) -> bool:
        self._doom.step()
        is_kept = super().add_dead_letters(source, events)
        self._doom.step()
        return is_kept

    def add_segment(self, name: SegmentName, log: Path, idx: Path) -> bool:
        self._doom.step()
        super().add_segment(name, log, idx.with_name("no-such-file"))
        self._doom.step()
        is_taken = super().add_segment(name, log, idx)
        self._doom.step()
        return is_taken

    def requeue(self, name: SegmentName, cdc_raw: Path) -> bool:
        self._doom.step()
        is_back = super().requeue(name, cdc_raw)
        self._doom.step()
        return is_back


class DoomedSink(MemorySink):
    """Acknowledges when it is told to."""

    def __init__(self, doom: Doom) -> None:
        super().__init__(automatic=False)
        self._doom = doom

    def send(self, numbered: Numbered[Any, Any], start: int, deadline_s: float) -> int:
        self._doom.step()
        taken = super().send(numbered, start, deadline_s)
        self._doom.step()
        return taken

    def poll(self, timeout_s: float) -> DeliveryResult:
        self._doom.step()
        return super().poll(timeout_s)

"""The row of the fault matrix that a test proves, its measurements, and the resources of a process,
sampled from /proc."""

import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import pytest

MARKER = "situation"
_INTERVAL_S = 0.1
_SAMPLES_OF_A_THIRD = 20


@dataclass(frozen=True, slots=True)
class Use:
    """One sample."""

    resident_bytes: int
    descriptors: int
    threads: int
    quarantined_files: int = 0


@dataclass(frozen=True, slots=True)
class Growth:
    """Largest value of each resource in the first third of a run and in its last third."""

    first: Use
    last: Use

    def require_flat(self, resident_bytes: int, descriptors: int = 4, threads: int = 1) -> None:
        """Raises AssertionError when the last third exceeds the first by more than this. A request
        over HTTP takes one or two descriptors while it runs. The quarantine may not grow at all."""
        first, last = self.first, self.last
        assert last.resident_bytes <= first.resident_bytes + resident_bytes, self
        assert last.descriptors <= first.descriptors + descriptors, self
        assert last.threads <= first.threads + threads, self
        assert last.quarantined_files == first.quarantined_files, self


def situation(name: str) -> pytest.MarkDecorator:
    """Marks a test as the proof of the row of docs/evidence/faults.md with this name."""
    return pytest.mark.situation(name)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Events by their ids: expected by the judge, and arrived."""

    expected: int
    delivered: int
    """Different expected events that arrived."""
    lost: int
    invented: int
    repeated: int
    """Arrivals beyond the first of each event."""
    recorded: int = 0
    """Events that did not arrive but are recorded in the quarantine; not among `lost`."""
    growth: Growth | None = None
    """Resources of the agent, if the row measures them."""


def outcome_of(
    expected: Iterable[object], arrived: Iterable[object], recorded: Iterable[object] = ()
) -> Outcome:
    """Compare ids. `expected` may repeat an id if the log itself contains an event twice."""
    wanted, got, kept = Counter(expected), Counter(arrived), set(recorded)
    missing = [each for each in wanted if each not in got]
    return Outcome(
        expected=len(wanted),
        delivered=sum(1 for each in wanted if each in got),
        lost=sum(1 for each in missing if each not in kept),
        invented=sum(1 for each in got if each not in wanted),
        repeated=sum(
            count - wanted[each] for each, count in got.items() if count > wanted[each] > 0
        ),
        recorded=sum(1 for each in missing if each in kept),
    )


def use_of(pid: int, quarantine: Path | None = None) -> Use:
    """Raises OSError if the process has ended."""
    proc = Path("/proc") / str(pid)
    status = dict(line.split(":", 1) for line in (proc / "status").read_text().splitlines())
    return Use(
        resident_bytes=int(status["VmRSS"].split()[0]) * 1024,
        descriptors=len(list((proc / "fd").iterdir())),
        threads=int(status["Threads"]),
        quarantined_files=(
            len(list(quarantine.iterdir())) if quarantine and quarantine.exists() else 0
        ),
    )


class Sampling:
    """`with Sampling(pid) as samples:` takes samples ten times a second. `quarantine` is the
    directory whose files it counts."""

    def __init__(self, pid: int, quarantine: Path | None = None) -> None:
        self._pid = pid
        self._quarantine = quarantine
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.samples: list[Use] = []

    @property
    def peak(self) -> Use:
        """Largest value of each resource."""
        return _largest(self.samples)

    @property
    def growth(self) -> Growth:
        """Raises AssertionError when the run was too short to be divided."""
        third = len(self.samples) // 3
        assert third >= _SAMPLES_OF_A_THIRD, f"{len(self.samples)} samples are too few"
        return Growth(_largest(self.samples[:third]), _largest(self.samples[-third:]))

    def __enter__(self) -> Self:
        self.samples.append(use_of(self._pid, self._quarantine))
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._end.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._end.wait(_INTERVAL_S):
            try:
                self.samples.append(use_of(self._pid, self._quarantine))
            except (OSError, KeyError):
                return


def _largest(samples: list[Use]) -> Use:
    return Use(
        max(each.resident_bytes for each in samples),
        max(each.descriptors for each in samples),
        max(each.threads for each in samples),
        max(each.quarantined_files for each in samples),
    )

"""What a process uses, sampled from /proc while it runs."""

import threading
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

_INTERVAL_S = 0.1


@dataclass(frozen=True, slots=True)
class Use:
    """One sample."""

    resident_bytes: int
    descriptors: int
    threads: int


def use_of(pid: int) -> Use:
    """Raises OSError when the process is gone."""
    proc = Path("/proc") / str(pid)
    status = dict(line.split(":", 1) for line in (proc / "status").read_text().splitlines())
    return Use(
        resident_bytes=int(status["VmRSS"].split()[0]) * 1024,
        descriptors=len(list((proc / "fd").iterdir())),
        threads=int(status["Threads"]),
    )


class Sampling:
    """`with Sampling(pid) as samples:` takes samples ten times a second."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.samples: list[Use] = []

    @property
    def peak(self) -> Use:
        """The largest of each."""
        return _largest(self.samples)

    def peaks(self, parts: int) -> list[Use]:
        """The largest of each in equal parts of the time."""
        size = max(1, len(self.samples) // parts)
        return [_largest(self.samples[at : at + size]) for at in range(0, size * parts, size)]

    def __enter__(self) -> Self:
        self.samples.append(use_of(self._pid))
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._end.wait(_INTERVAL_S):
            try:
                self.samples.append(use_of(self._pid))
            except (OSError, KeyError):
                return


def _largest(samples: list[Use]) -> Use:
    return Use(
        max(each.resident_bytes for each in samples),
        max(each.descriptors for each in samples),
        max(each.threads for each in samples),
    )

"""CPU time of a process and its descendants, sampled because ended workers take theirs with them.

The daemon of PySpark does not wait for its workers, so the kernel forgets their CPU time.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

_INTERVAL_S = 0.2
"""A worker that ends loses at most the CPU time since the last sample."""
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PARENT, _STARTED, _USER, _SYSTEM = 1, 19, 11, 12
"""Places of fields in /proc/PID/stat after the name (proc(5))."""


class CpuTime:
    """CPU time of a tree of processes while `sampled`."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._ticks: dict[tuple[int, str], int] = {}
        """By process and its start, because numbers of processes are used again."""

    @contextmanager
    def sampled(self) -> Iterator[None]:
        stop = Event()

        def repeat() -> None:
            while not stop.wait(_INTERVAL_S):
                self._sample()

        sampling = Thread(target=repeat)
        self._sample()
        sampling.start()
        try:
            yield
        finally:
            stop.set()
            sampling.join()
            self._sample()

    def seconds(self) -> float:
        """CPU seconds of all processes of the tree that a sample has seen."""
        return sum(self._ticks.values()) / _TICKS_PER_S

    def _sample(self) -> None:
        stats: dict[int, list[str]] = {}
        for file in Path("/proc").glob("[0-9]*/stat"):
            try:
                stats[int(file.parent.name)] = file.read_text().rpartition(")")[2].split()
            except OSError:
                continue
        tree = {self._pid}
        while more := {pid for pid, stat in stats.items() if int(stat[_PARENT]) in tree} - tree:
            tree |= more
        for pid in tree & stats.keys():
            stat = stats[pid]
            self._ticks[pid, stat[_STARTED]] = int(stat[_USER]) + int(stat[_SYSTEM])

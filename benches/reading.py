"""Our parser in a process of its own: `python -m benches.reading CPU SCHEMA.CQL SEGMENT…`.

The process keeps to one processor. Each line of its input is one round over all segments and gives
one line of JSON; the line is one of `MODES`.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from commitlog import EventFormat, Schema, SegmentReader

Mode = Literal["scan", "events", "events-without-cells"]
MODES: tuple[Mode, ...] = ("scan", "events", "events-without-cells")


@dataclass(frozen=True)
class ReadRound:
    """One round. `checksum` is 0 unless the mode is `scan`; `out_bytes` are keys and values."""

    mutations: int
    cells: int
    checksum: int
    out_bytes: int
    wall_ns: int
    cpu_ns: int


class ReadingProcess:
    """`with ReadingProcess(segments, schema, cpu=0) as reading:` runs rounds of our parser."""

    def __init__(self, segments: Sequence[Path], schema: Path, *, cpu: int) -> None:
        words = ["-m", "benches.reading", str(cpu), str(schema), *map(str, segments)]
        self._process = subprocess.Popen(
            [sys.executable, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.communicate()

    def round(self, mode: Mode) -> ReadRound:
        """Read all segments once."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{mode}\n")
        self._process.stdin.flush()
        return ReadRound(**json.loads(self._process.stdout.readline()))


def main() -> None:
    cpu, schema_file, *segments = sys.argv[1:]
    os.sched_setaffinity(0, {int(cpu)})
    schema = Schema.from_cql(Path(schema_file).read_text())
    for line in sys.stdin:
        read = scan_all if line.strip() == "scan" else make_events
        cpu_ns, wall_ns = time.thread_time_ns(), time.perf_counter_ns()
        counts = read(schema, segments, line.strip())
        wall_ns, cpu_ns = time.perf_counter_ns() - wall_ns, time.thread_time_ns() - cpu_ns
        print(json.dumps(asdict(ReadRound(*counts, wall_ns=wall_ns, cpu_ns=cpu_ns))), flush=True)


def scan_all(schema: Schema, segments: Sequence[str], _mode: str) -> tuple[int, int, int, int]:
    mutations = cells = checksum = 0
    for segment in segments:
        scan = SegmentReader(segment).scan(schema)
        mutations += scan.mutations
        cells += scan.cells
        checksum = (checksum + scan.checksum) % (1 << 64)
    return mutations, cells, checksum, 0


def make_events(schema: Schema, segments: Sequence[str], mode: str) -> tuple[int, int, int, int]:
    event_format = EventFormat(
        topic_prefix="bench", cluster="bench", node_id="bench", cells=mode == "events"
    )
    mutations = out_bytes = 0
    for segment in segments:
        reader = SegmentReader(segment)
        while True:
            batch = reader.read(schema, event_format, complete=True)
            mutations += batch.mutations
            out_bytes += batch.size_bytes
            if batch.stop == "end":
                break
    return mutations, 0, 0, out_bytes


if __name__ == "__main__":
    main()

"""A parser process: `python -m benches.reader_process CPUS KEYSTORE SCHEMA SEGMENT…`.

The process runs on the given processors (`0` or `0,1`), with one thread for each. `KEYSTORE` is `-`
for plain segments. Each input line contains a mode, and makes every thread read all segments once;
the response is one line of JSON.
"""

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Literal, Self

from agent.keystore.jceks import read_jceks
from commitlog import EventFormat, Schema, SegmentReader
from sidecar.encoding import SchemaIds
from tests.support.servers.keystore import PASSWORD

Mode = Literal[
    "digest",
    "pread",
    "skip",
    "scan",
    "events",
    "events-without-cells",
    "events-avro",
    "events-protobuf",
    "events-with-schemas",
]
MODES: tuple[Mode, ...] = ("pread", "skip", "scan", "events", "events-without-cells")
_PREAD_BYTES = 256 << 10
_DIGESTS = 200


@dataclass(frozen=True)
class ReadRound:
    """One round. Counts are of one thread; `mutations` is 0 in the modes `digest` and `pread`,
    `cells` and `checksum` unless the mode is `scan`. `out_bytes` counts keys and values. `wall_ns`
    covers all threads; `cpu_ns` is of the busiest thread."""

    mutations: int
    cells: int
    checksum: int
    out_bytes: int
    wall_ns: int
    cpu_ns: int


class ReadingProcess:
    """`with ReadingProcess(segments, schema, cpus=[0]) as reading:` runs rounds of our parser."""

    def __init__(
        self,
        segments: Sequence[Path],
        schema: Path,
        *,
        cpus: Sequence[int],
        keystore: Path | None = None,
    ) -> None:
        places = [",".join(map(str, cpus)), str(keystore or "-"), str(schema)]
        words = ["-m", "benches.reader_process", *places, *map(str, segments)]
        self._process = subprocess.Popen(
            [sys.executable, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._process.kill()
        self._process.communicate()

    def round(self, mode: Mode) -> ReadRound:
        """Read all segments once in each thread."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{mode}\n")
        self._process.stdin.flush()
        return ReadRound(**json.loads(self._process.stdout.readline()))


@dataclass(frozen=True)
class Reading:
    """The input of a reading process."""

    schema: Schema
    segments: Sequence[str]
    keys: Mapping[str, bytes]


Counts = tuple[int, int, int, int]


def main() -> None:
    cpus_text, keystore, schema_file, *segments = sys.argv[1:]
    cpus = [int(cpu) for cpu in cpus_text.split(",")]
    os.sched_setaffinity(0, cpus)
    keys = {} if keystore == "-" else read_jceks(Path(keystore).read_bytes(), PASSWORD, PASSWORD)
    reading = Reading(Schema.from_cql(Path(schema_file).read_text()), segments, keys)
    with ThreadPoolExecutor(len(cpus)) as threads:
        for line in sys.stdin:
            wall_ns = time.perf_counter_ns()
            rounds = list(
                threads.map(_one_thread, [line.strip()] * len(cpus), [reading] * len(cpus))
            )
            wall_ns = time.perf_counter_ns() - wall_ns
            counts, _ = rounds[0]
            cpu_ns = max(cpu_ns for _, cpu_ns in rounds)
            done = ReadRound(*counts, wall_ns=wall_ns, cpu_ns=cpu_ns)
            print(json.dumps(asdict(done)), flush=True)


def _one_thread(mode: str, reading: Reading) -> tuple[Counts, int]:
    """Read once; return the counts and the thread's CPU time in nanoseconds."""
    before_ns = time.thread_time_ns()
    counts = _READERS[mode](reading)
    return counts, time.thread_time_ns() - before_ns


def _digest(_reading: Reading) -> Counts:
    """Hash in memory: how this scales to two threads is the limit of the machine."""
    block = bytes(1 << 20)
    for _ in range(_DIGESTS):
        hashlib.sha256(block)
    return 0, 0, 0, 0


def _pread(reading: Reading) -> Counts:
    """Read the bytes with `pread`, the upper bound for every reader."""
    chunk = bytearray(_PREAD_BYTES)
    for segment in reading.segments:
        file = os.open(segment, os.O_RDONLY)
        at = 0
        while count := os.preadv(file, [chunk], at):
            at += count
        os.close(file)
    return 0, 0, 0, 0


def _scan(reading: Reading) -> Counts:
    mutations = cells = checksum = 0
    for segment in reading.segments:
        scan = SegmentReader(segment, keys=reading.keys).scan(reading.schema)
        mutations += scan.mutations
        cells += scan.cells
        checksum = (checksum + scan.checksum) % (1 << 64)
    return mutations, cells, checksum, 0


def _events(
    reading: Reading,
    *,
    cells: bool = True,
    include: Sequence[str] = (),
    encoding: Literal["json", "json_with_schema", "avro", "protobuf"] = "json",
) -> Counts:
    ids = SchemaIds()
    event_format = EventFormat(
        topic_prefix="bench",
        cluster="bench",
        node_id="bench",
        cells=cells,
        include=include,
        key=encoding,
        value=encoding,
        schema_ids=ids,
    )
    mutations = out_bytes = 0
    for segment in reading.segments:
        reader = SegmentReader(segment, keys=reading.keys)
        while True:
            batch = reader.read(reading.schema, event_format, complete=True)
            mutations += batch.mutations
            out_bytes += batch.size_bytes
            if batch.blocked is not None:
                for number, schema in enumerate(batch.blocked.unregistered):
                    ids.set(schema, number)
            if batch.stop == "end":
                break
    return mutations, 0, 0, out_bytes


_READERS: dict[str, Callable[[Reading], Counts]] = {
    "digest": _digest,
    "pread": _pread,
    # Verifies checksums but decodes no table.
    "skip": partial(_events, include=["no.table"]),
    "scan": _scan,
    "events": _events,
    "events-without-cells": partial(_events, cells=False),
    "events-avro": partial(_events, encoding="avro"),
    "events-protobuf": partial(_events, encoding="protobuf"),
    "events-with-schemas": partial(_events, encoding="json_with_schema"),
}


if __name__ == "__main__":
    main()

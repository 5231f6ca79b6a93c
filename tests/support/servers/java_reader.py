"""Cassandra's own commit-log reader: the canonical dump, rounds for timing, and segments to read.

The programs are in `tests/oracle/reader-java`. Cassandra 5.0's classes read the versions 6, 7 and 8
of the log, and 6.0's also version 9.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

from tests.support.servers.cassandra_java import jars, java_of, module_options
from tests.support.servers.cassandra_settings import release
from tests.support.servers.errors import ToolFailedError
from tests.support.servers.java_sources import reader_classes

VERSION = "5.0.9"
NEWEST = "6.0-alpha2"
_PIN = (
    "import os, sys; os.sched_setaffinity(0, {int(sys.argv[1])}); "
    "os.execv(sys.argv[2], sys.argv[2:])"
)


def reader_of(version: str) -> str:
    """The release whose classes read the segments, and the schema, of a node of `version`."""
    return NEWEST if release(version) >= release(NEWEST) else VERSION


@dataclass(frozen=True)
class CassandraDump:
    """What Cassandra reads.

    `ndjson` has one line a partition update of the schema's tables
    (docs/reference/dump-format.md). `errors` are the reader's complaints; `unknown` counts the
    mutations that it dropped, by table id.
    """

    ndjson: bytes
    errors: tuple[str, ...]
    unknown: dict[str, int]


@dataclass(frozen=True)
class BenchRound:
    """One round of Cassandra's reader over all segments. `cells` and `checksum` are 0 unless the
    cells were visited; the checksum is that of `commitlog.Scan`."""

    mutations: int
    cells: int
    payload_bytes: int
    checksum: int
    wall_ns: int
    cpu_ns: int


def dump_segments(
    segments: Sequence[Path],
    schema: Path,
    *,
    keystore: Path | None = None,
    tolerate_truncation: bool = False,
    version: str | None = None,
) -> CassandraDump:
    """The dump of segments (`.log` or `.log.gz`) in order of their ids. `schema` is CQL with ids.

    The classes are those of `version`; by default those of 6.0 if a segment has version 9.
    `keystore` is a JCEKS file with the key `testing:1` and passwords `cassandra`.
    """
    arguments = ["--tolerate-truncation"] if tolerate_truncation else []
    if keystore is not None:
        arguments += ["--keystore", str(keystore)]
    if version is None:
        has_9 = any(path.name.startswith("CommitLog-9-") for path in segments)
        version = NEWEST if has_9 else VERSION
    done = _run("Dump", [*arguments, str(schema), *map(str, segments)], version)
    errors = []
    unknown: dict[str, int] = {}
    for line in done.stderr.decode().splitlines():
        kind, _, rest = line.partition(" ")
        if kind == "unknown":
            table_id, count = rest.split()
            unknown[table_id] = unknown.get(table_id, 0) + int(count)
        else:
            errors.append(rest if kind == "error" else line)
    return CassandraDump(done.stdout, tuple(errors), unknown)


def write_segments(
    directory: Path,
    *,
    segment_mib: int,
    count: int,
    value_bytes: int,
    seed: int,
    compressor: str | None = None,
    keystore: Path | None = None,
) -> int:
    """Fill a new `cdc_raw` through Cassandra's own commit log; gives the number of mutations.

    Beside the segments, of which `count` are full, lie their index files and `schema.cql`.
    `compressor` is a class name such as `LZ4Compressor`; with `keystore`, as `dump_segments` takes
    it, the log is encrypted.
    """
    arguments = [str(directory), str(segment_mib), str(count), str(value_bytes), str(seed)]
    if keystore is not None:
        arguments += ["--keystore", str(keystore)]
    elif compressor is not None:
        arguments.append(compressor)
    return int(_run("WriteSegments", arguments).stdout)


class JavaBench:
    """`with JavaBench(segments, schema, cpu=0) as bench:` keeps one JVM for rounds of reading.

    `cpu` pins the whole JVM, its compiler and its collector too, to one processor; `keystore` is
    as `dump_segments` takes it.
    """

    def __init__(
        self,
        segments: Sequence[Path],
        schema: Path,
        *,
        cpu: int | None = None,
        jvm_options: Sequence[str] = (),
        keystore: Path | None = None,
    ) -> None:
        pin = [] if cpu is None else [sys.executable, "-c", _PIN, str(cpu)]
        keys = [] if keystore is None else ["--keystore", str(keystore)]
        java = _command("Bench", [*keys, str(schema), *map(str, segments)], jvm_options)
        self._command = [*pin, *java]
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        return self

    def __exit__(self, *exception: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()

    def round(self, mode: Literal["visit", "deserialise"]) -> BenchRound:
        """Read all segments once; see `Bench.java` for the modes."""
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            raise ToolFailedError("The reader is not running: use it as a context manager.")
        process.stdin.write(f"{mode}\n")
        process.stdin.flush()
        line = process.stdout.readline()
        if not line:
            raise ToolFailedError("Cassandra's reader ended; standard error says why.")
        return BenchRound(**json.loads(line))


def _run(
    program: str, arguments: Sequence[str], version: str = VERSION
) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        _command(program, arguments, version=version),
        capture_output=True,
        check=False,
        env=environment,
    )
    if done.returncode != 0:
        raise ToolFailedError(f"{program} failed:\n{done.stderr.decode()[-4000:]}")
    return done


def _command(
    program: str,
    arguments: Sequence[str],
    jvm_options: Sequence[str] = (),
    *,
    version: str = VERSION,
) -> list[str]:
    library = jars(version)
    options = jvm_options or ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
    return [
        str(java_of(version)),
        "-Xmx1g",
        "-Dfile.encoding=UTF-8",
        *options,
        *module_options(),
        *("-cp", f"{reader_classes(library, release(version)[0])}:{library}/*"),
        f"cdcsidecar.reader.{program}",
        *arguments,
    ]

"""Rounds of workloads on one node: run, read, compare, store differences."""

import gzip
import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from commitlog import CommitLogError, SchemaError
from tests.oracle.reference import SegmentError
from tests.oracle.reference.recordings import KEYSTORE
from tests.oracle.soak_parser.comparison import Compared, Readings, compare
from tests.oracle.soak_parser.nodes import NodeKind
from tests.oracle.soak_parser.recording import NO_ANSWER, Recorded, Recorder
from tests.support.servers.errors import HarnessError
from tests.support.servers.java_reader import reader_of
from tests.support.workloads.soak import workload

_READER_ERRORS = (
    *(CommitLogError, SchemaError, SegmentError),
    *(HarnessError, AssertionError, ArithmeticError, LookupError, TypeError, ValueError),
)


@dataclass(frozen=True, slots=True)
class Failure:
    """Workload on which the readers disagree."""

    seed: int
    problems: tuple[str, ...]
    folder: Path


@dataclass(slots=True)
class Totals:
    """Totals of the comparisons so far."""

    workloads: int = 0
    accepted: int = 0
    segments: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    content: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)
    unfinished: Counter[str] = field(default_factory=Counter)
    """Workloads that were not compared, by the reason."""


def run_round(
    recorder: Recorder, kind: NodeKind, seeds: Sequence[int], kept: Path, totals: Totals
) -> None:
    """One workload for each seed; `kept` gets a folder for each that fails. A round in which the
    node does not answer is not compared: the node is restarted."""
    with tempfile.TemporaryDirectory(prefix="soak-round-") as scratch:
        folder = Path(scratch)
        recorded = []
        try:
            for seed in seeds:
                recorded.append(recorder.run(workload(seed, kind.release, is_far=kind.is_far)))
            segments = recorder.segments(folder)
        except NO_ANSWER as error:
            totals.unfinished[f"{type(error).__name__}: {error}"[:120]] += len(seeds)
            recorder.restart()
            return
        _compare(kind, recorded, segments, folder, kept, totals)
    totals.workloads += len(recorded)
    totals.segments += len(segments)
    for each in recorded:
        totals.accepted += each.accepted
        totals.refused += each.refused
    try:
        recorder.forget([each.workload for each in recorded])
    except NO_ANSWER:
        recorder.restart()


def _compare(
    kind: NodeKind,
    recorded: Sequence[Recorded],
    segments: Sequence[Path],
    folder: Path,
    kept: Path,
    totals: Totals,
) -> None:
    """Compare all together, for one start of the Java program; in halves if a reader fails, until
    the failing workload is known."""
    try:
        compared = compare(recorded, segments, folder, reader_of(kind.version))
    except _READER_ERRORS as error:
        if len(recorded) > 1:
            middle = len(recorded) // 2
            for half in (recorded[:middle], recorded[middle:]):
                _compare(kind, half, segments, folder, kept, totals)
            return
        name = recorded[0].workload.keyspace
        compared = Compared({name: [f"{type(error).__name__}: {error}"]}, {}, Counter())
    totals.content += compared.content
    general = compared.problems.pop("", [])
    for each in recorded:
        problems = compared.problems.get(each.workload.keyspace, [])
        if general and not compared.problems:
            problems = general
        if problems:
            readings = compared.readings.get(each.workload.keyspace, Readings())
            target = keep(kept, kind, each, segments, readings, problems)
            totals.failures.append(Failure(each.workload.seed, tuple(problems), target))


def keep(
    kept: Path,
    kind: NodeKind,
    recorded: Recorded,
    segments: Sequence[Path],
    readings: Readings,
    problems: Sequence[str],
) -> Path:
    """Store everything that is needed to analyse a failure, in a separate folder."""
    folder = kept / f"{kind.label.replace(':', '-')}-{recorded.workload.seed}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    named = {line["segment"] for line in (*readings.cassandra, *readings.parser)}
    for segment in segments:
        if not named or segment.name in named:
            with gzip.open(folder / f"{segment.name}.gz", "wb", 6) as packed:
                packed.write(segment.read_bytes())
            keystore = segment.with_name(KEYSTORE)
            if keystore.exists():
                shutil.copyfile(keystore, folder / KEYSTORE)
    (folder / "schema.cql").write_text(recorded.schema, encoding="utf-8")
    statements = "".join(f"{step.cql};\n" for step in recorded.workload.steps)
    (folder / "statements.cql").write_text(statements, encoding="utf-8")
    (folder / "problems.txt").write_text("\n\n".join(problems) + "\n", encoding="utf-8")
    for name, lines in (
        ("cassandra", readings.cassandra),
        ("parser", readings.parser),
        ("plain", readings.plain),
        ("events", [each.value for each in readings.events]),
    ):
        text = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)
        (folder / f"{name}.ndjson").write_text(text, encoding="utf-8")
    return folder

"""Content of recordings, written by the writer in every version, framing and format, and read by
Cassandra's own reader."""

import json
from collections.abc import Iterator, Sequence
from itertools import cycle, groupby, product
from pathlib import Path
from typing import Any

import pytest

from tests.oracle.reference import Update, parse_schema, read_segment
from tests.oracle.reference.recordings import OWN, Scenario
from tests.oracle.writer import FRAMINGS, Bases, Form, write_mutation, write_segment
from tests.oracle.writer.expected import expected
from tests.oracle.writer.strategies import Workload
from tests.support.servers.java_reader import dump_segments

pytestmark = pytest.mark.servers

READERS = {"5.0.9": (6, 7, 8), "6.0-alpha2": (6, 7, 8, 9)}
NAMES = (
    *("types", "collections", "deletions", "ttl", "timestamps", "wide", "batches", "transactions"),
    *("counters", "views"),
)
SCENARIOS = tuple(Scenario(OWN, OWN / "5.0" / name) for name in NAMES)
FORMS: tuple[dict[str, Any], ...] = (
    {},
    {"flags": 1, "epoch": -(1 << 63)},
    {"shares_times": False, "epoch": 1 << 40},
    {"bases": Bases(), "epoch": -(1 << 63) + 1},
)
"""Used in turn, one for each mutation."""
_SECTION = 50


def mutations(scenario: Scenario) -> Iterator[tuple[Update, ...]]:
    """Mutations of a recording as updates of its tables."""
    schema = parse_schema((scenario.folder / "schema.cql").read_text(encoding="utf-8"))
    for path, name in scenario.segments():
        updates = read_segment(path, name, schema)
        for _, group in groupby(updates, key=lambda update: update.position):
            yield tuple(group)


def workload(scenario: Scenario, version: int) -> Workload:
    """The recording in the formats of a version, in sections."""
    forms = cycle(Form(version=version, **form) for form in FORMS)
    whole = [
        (tuple(update.partition for update in mutation), next(forms))
        for mutation in mutations(scenario)
    ]
    sections = [whole[start : start + _SECTION] for start in range(0, len(whole), _SECTION)]
    return Workload("", sections)


def write(folder: Path, versions: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Write a segment for each version and recording; yields the expected lines."""
    framings = cycle(framing for framing in FRAMINGS if not framing.keys)
    for segment_id, (version, scenario) in enumerate(product(versions, SCENARIOS)):
        found = workload(scenario, version)
        payloads = [[write_mutation(*mutation) for mutation in s] for s in found.sections]
        segment = write_segment(payloads, version, segment_id, next(framings))
        name = f"CommitLog-{version}-{segment_id}.log"
        (folder / name).write_bytes(segment.data)
        yield from expected(found, segment, name)


@pytest.mark.parametrize("reader", [pytest.param("5.0.9", marks=pytest.mark.slow), "6.0-alpha2"])
def test_node_reader_reads_written_segments(reader: str, tmp_path: Path) -> None:
    schema = tmp_path / "schema.cql"
    texts = ((each.folder / "schema.cql").read_text(encoding="utf-8") for each in SCENARIOS)
    schema.write_text("\n".join(texts), encoding="utf-8")
    lines = list(write(tmp_path, READERS[reader]))
    found = dump_segments(sorted(tmp_path.glob("*.log")), schema, version=reader)
    assert found.errors == ()
    for line, read in zip(lines, found.ndjson.splitlines(), strict=True):
        assert json.loads(read) == line

"""What the writer writes is what both readers read, in every version and framing."""

import json
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import commitlog
from tests.oracle.reference import parse_schema, read_segment, to_line
from tests.oracle.writer import (
    FRAMINGS,
    Framing,
    Written,
    insert,
    mutation,
    update,
    write_mutation,
    write_segment,
)
from tests.oracle.writer.expected import expected
from tests.oracle.writer.strategies import Workload, workloads
from tests.support.segments.segment_reading import dump, overwrite

EXAMPLES = 50
NAME = "CommitLog-7-1.log"
TABLE_ID = UUID("5a1c395e-b41f-11e5-9f22-ba0be0483c18")
SCHEMA_TEXT = f"CREATE TABLE k.t (p text, c int, v text, PRIMARY KEY (p, c)) WITH ID = {TABLE_ID}"


def written(workload: Workload, version: int, framing: Framing) -> Written:
    """The workload as a segment with the id 1."""
    payloads = [
        [write_mutation(updates, form) for updates, form in section]
        for section in workload.sections
    ]
    return write_segment(payloads, version, framing=framing)


@pytest.mark.parametrize("version", [6, 7, 8, 9])
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    print_blob=True,
    # A failure says enough; making it smaller takes minutes.
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_both_readers_read_written_segments(
    version: int, data: st.DataObject, tmp_path: Path
) -> None:
    workload = data.draw(workloads(version))
    framing = data.draw(st.sampled_from(FRAMINGS))
    segment = written(workload, version, framing)
    name = f"CommitLog-{version}-1.log"
    path = tmp_path / name
    overwrite(path, segment.data)
    lines = expected(workload, segment, name)

    dumped = dump(path, commitlog.Schema.from_cql(workload.schema_text), keys=framing.keys)
    assert [gap.cause for gap in dumped.gaps] == []
    assert dumped.lines == lines

    schema = parse_schema(workload.schema_text)
    plain = read_segment(segment.data, name, schema, keys=framing.keys)
    assert [json.loads(json.dumps(to_line(update))) for update in plain] == lines


@pytest.mark.parametrize("framing", FRAMINGS, ids=lambda framing: framing.name)
@pytest.mark.parametrize("size", [1 << 18, 1 << 20, (1 << 20) - 12, 3 << 20])
def test_a_record_as_large_as_a_chunk_or_larger(
    size: int, framing: Framing, tmp_path: Path
) -> None:
    """It is read whole, wherever it begins in what is read at once."""
    small, large = (mutation(update(TABLE_ID, insert(7, b"v" * n))) for n in (20, size))
    segment = write_segment([[large, small, large], [small, large]], framing=framing)
    path = tmp_path / NAME
    path.write_bytes(segment.data)
    dumped = dump(path, commitlog.Schema.from_cql(SCHEMA_TEXT), keys=framing.keys)
    assert dumped.gaps == []
    values = [line["items"][0]["cells"][0]["val"] for line in dumped.lines]
    assert [len(value) // 2 for value in values] == [size, 20, size, 20, size]
    assert [line["pos"] for line in dumped.lines] == [p for e in segment.record_ends for p in e]

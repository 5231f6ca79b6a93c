"""The structure of segments: what it says is what Cassandra and the plain reader say, and every
place in it is the place of those bytes."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import commitlog
from tests.oracle import writer
from tests.oracle.reference import parse_schema, read_segment, to_line
from tests.oracle.reference.descriptor import read_descriptor
from tests.oracle.reference.recordings import Scenario, rows, scenarios
from tests.oracle.reference.records import Record, read_records
from tests.oracle.reference.sections import Section, read_sections
from tests.oracle.writer import FRAMINGS, write_mutation, write_segment
from tests.oracle.writer.expected import expected
from tests.oracle.writer.strategies import workloads
from tests.support.segments.damaged_segments import LZ4, NAME, PLAIN, SCHEMA, TABLE, flips
from tests.support.segments.segment_reading import dump, overwrite, reader_of, schema_of, unpacked

pytestmark = pytest.mark.heavy

Json = dict[str, Any]

_PLACES = ("at", "bytes", "ck_values", "row_estimate")


def structure(
    path: Path,
    schema: commitlog.Schema | None = None,
    *,
    max_bytes: int = 1 << 20,
    keys: Mapping[str, bytes] | None = None,
) -> list[Json]:
    """All lines of a finished segment."""
    reader = reader_of(path, keys=keys)
    lines: list[Json] = []
    while chunk := reader.structure(schema, max_bytes=max_bytes):
        lines += [json.loads(line) for line in chunk.splitlines()]
    return lines


def of_kind(lines: list[Json], kind: str) -> list[Json]:
    return [line for line in lines if line["t"] == kind]


def canonical(segment: str, record: Json) -> list[Json]:
    """The lines of the canonical dump that a record's tree stands for."""
    mutation = record["mutation"]
    if "undecoded" in mutation:
        # It leaves out mutations with a table that the schema lacks, as Cassandra's reader does.
        return []
    return [
        {
            "segment": segment,
            "pos": record["end"],
            "update": index,
            "updates": mutation["updates"],
            "ks": update["keyspace"],
            "table": update["table"],
            "id": update["table_id"],
            "key": update["key"],
            "del": update["del"],
            "static": next(
                (_item(item) for item in update["items"] if item["t"] == "static"), None
            ),
            "items": [_item(item) for item in update["items"] if item["t"] != "static"],
            **_epoch(update),
        }
        for index, update in enumerate(mutation["tree"])
    ]


def _epoch(update: Json) -> Json:
    """Cassandra's reader forgets the epoch of an empty update."""
    has_epoch = "epoch" in update and (update["del"] or update["items"])
    return {"epoch": update["epoch"]} if has_epoch else {}


def _item(item: Json) -> Json:
    plain = {name: value for name, value in item.items() if name not in _PLACES}
    if "cells" in item:
        cells = [
            {name: value for name, value in cell.items() if name not in ("element", "value")}
            for cell in item["cells"]
        ]
        plain["cells"] = sorted(cells, key=lambda c: (c["col"].encode(), c["path"] or ""))
        plain["cdel"] = sorted(item["cdel"], key=lambda deletion: deletion["col"].encode())
    if item["t"] == "static":
        del plain["t"]
    return plain


@dataclass(frozen=True, slots=True)
class Shown:
    """A recorded segment, its sections and records by the plain reader, and its structure."""

    path: Path
    data: bytes
    sections: list[Section]
    records: list[Record]
    lines: list[Json]


@dataclass(frozen=True, slots=True)
class Recorded:
    scenario: Scenario
    schema: commitlog.Schema
    segments: list[Shown]


@pytest.fixture(scope="module", params=rows(scenarios()))
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    scenario, schema = request.param, schema_of(request.param)
    folder, segments = tmp_path_factory.mktemp("segments"), []
    for packed, name in scenario.segments():
        path = unpacked(packed, name, folder)
        data = path.read_bytes()
        sections = list(read_sections(data, read_descriptor(data, name), scenario.keys()))
        records = [record for each in sections for record in read_records(each, name, Counter())]
        segments.append(Shown(path, data, sections, records, structure(path, schema)))
    return Recorded(scenario, schema, segments)


def test_equals_cassandra(recorded: Recorded) -> None:
    found = []
    for segment in recorded.segments:
        assert segment.lines[0]["segment"] == segment.path.name
        assert segment.lines[-1]["t"] == "end"
        assert of_kind(segment.lines, "gap") == []
        for record in of_kind(segment.lines, "record"):
            found += canonical(segment.path.name, record)
    assert found == recorded.scenario.expected()


def test_places_are_those_of_the_plain_reader(recorded: Recorded) -> None:
    for segment in recorded.segments:
        data, (header, *_, end) = segment.data, segment.lines
        descriptor = read_descriptor(data, segment.path.name)
        assert header["file"] == {"from": 0, "to": descriptor.header_length}
        assert (header["version"], header["id"]) == (descriptor.version, descriptor.id)
        assert [
            (line["file"]["from"], line["file"]["to"], line["start"], line["end"], line["crc"])
            for line in of_kind(segment.lines, "section")
        ] == [(each.marker, each.file_end, each.start, each.end, "ok") for each in segment.sections]
        for line, record in zip(of_kind(segment.lines, "record"), segment.records, strict=True):
            assert (line["start"], line["end"]) == (record.start, record.end)
            assert line["payload_bytes"] == len(record.payload)
            first = line["mutation"]["tree"][0]
            at = first["at"] - line["start"] - 8
            assert record.payload[at : at + 16].hex() == first["table_id"].replace("-", "")
            if header["compression"] is None and header["encryption"] is None:
                place = line["file"]
                assert data[place["from"] + 8 : place["to"] - 4] == record.payload
            else:
                assert line["file"] is None
        assert end["sections"] == len(segment.sections)
        assert end["records"] == len(segment.records)


def test_updates_and_rows_lie_side_by_side(recorded: Recorded) -> None:
    for segment in recorded.segments:
        for line, record in zip(of_kind(segment.lines, "record"), segment.records, strict=True):
            if "undecoded" in line["mutation"]:
                continue
            payload, start = record.payload, line["start"] + 8
            end = None
            for update in line["mutation"]["tree"]:
                assert end in (None, update["at"])
                end = update["at"] + update["bytes"]
                # Also of an update without rows; the reader resumes only after such a byte.
                assert payload[end - start - 1] == 0x01
                items = update["items"]
                for item, behind in zip(items, [*items[1:], None][: len(items)], strict=True):
                    stop = item["at"] + item["bytes"]
                    flags = payload[item["at"] - start]
                    assert bool(flags & 0x02) == (item["t"] in ("bound", "boundary"))
                    if behind is not None and item["t"] != "static":
                        assert stop == behind["at"]
                    if behind is None and item["t"] != "static":
                        assert (payload[stop - start], stop + 1) == (0x01, end)
                    if item["t"] == "row":
                        assert bool(flags & 0x04) == (item["live"] is not None)
            assert end == line["end"] - 4


HEAD = ("update", "at", "table_id", "key", "flags", "bases", "static_columns", "regular_columns")


def test_neither_the_schema_nor_chunks_change_the_heads(recorded: Recorded) -> None:
    for segment in recorded.segments:
        assert structure(segment.path, recorded.schema, max_bytes=1) == segment.lines
        known = of_kind(segment.lines, "record")
        without = of_kind(structure(segment.path), "record")
        for with_schema, bare in zip(known, without, strict=True):
            (head,) = bare["mutation"]["tree"]
            whole = with_schema["mutation"]["tree"][0]
            assert [head[name] for name in HEAD] == [whole[name] for name in HEAD]
            assert head["table"] is None
            assert "not in the schema" in bare["mutation"]["undecoded"]["cause"]
            assert bare["mutation"]["updates"] == with_schema["mutation"]["updates"]


@pytest.mark.parametrize("whole", [PLAIN, LZ4], ids=["plain", "lz4"])
def test_damage_is_shown_in_its_place(whole: bytes, tmp_path: Path) -> None:
    """Any flipped bit: lines come to an end, and what is shown of records is of whole ones."""
    path = tmp_path / NAME
    path.write_bytes(whole)
    records = {line["start"]: line for line in of_kind(structure(path, SCHEMA), "record")}
    # Every bit of a byte, and of any byte some.
    for bit, damaged in flips(whole, iter(range(0, len(whole) * 8, 5))):
        overwrite(path, damaged)
        try:
            lines = structure(path, SCHEMA)
        except (commitlog.CorruptSegmentError, commitlog.UnsupportedFeatureError):
            continue
        assert lines[-1]["t"] == "end", f"bit {bit}"
        assert lines[-1]["gaps"] == len(of_kind(lines, "gap"))
        for line in of_kind(lines, "record"):
            known = records[line["start"]]
            if line["crc"] == "ok":
                assert line["mutation"] == known["mutation"], f"bit {bit}"
            else:
                assert "mutation" not in line
                assert (line["start"], line["end"]) == (known["start"], known["end"])


def test_a_bad_record_is_followed_by_its_gap(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_bytes(PLAIN.replace(b"value-1", b"VALUE-1"))
    lines = structure(path, SCHEMA)
    kinds = [line["t"] for line in lines[:6]]
    assert kinds == ["header", "section", "record", "record", "gap", "record"]
    assert [line.get("crc") for line in lines[2:6]] == ["ok", "bad", None, "ok"]
    assert (lines[3]["start"], lines[3]["end"]) == (lines[4]["start"], lines[4]["end"])


def test_values_are_reported_as_written(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_bytes(PLAIN)
    (update,) = of_kind(structure(path, SCHEMA), "record")[0]["mutation"]["tree"]
    assert update["table_id"] == str(TABLE)
    assert update["key_values"] == {"p": "a"}
    (row,) = update["items"]
    assert row["ck_values"] == {"c": 0}
    (cell,) = row["cells"]
    assert (cell["col"], cell["value"], cell["val"]) == ("v", "value-0", b"value-0".hex())


def check_written(version: int, data: st.DataObject, folder: Path) -> None:
    """A workload as every reader reads it: dump, plain reader and structure."""
    workload = data.draw(workloads(version))
    framing = data.draw(st.sampled_from(FRAMINGS))
    payloads = [[write_mutation(*each) for each in section] for section in workload.sections]
    written = write_segment(payloads, version, framing=framing)
    path = folder / f"CommitLog-{version}-1.log"
    overwrite(path, written.data)
    schema = commitlog.Schema.from_cql(workload.schema_text)
    wanted = expected(workload, written, path.name)
    dumped = dump(path, schema, keys=framing.keys)
    assert dumped.gaps == []
    assert dumped.lines == wanted
    plain_schema = parse_schema(workload.schema_text)
    plain = read_segment(written.data, path.name, plain_schema, keys=framing.keys)
    assert [to_line(update) for update in plain] == wanted
    lines = structure(path, schema, keys=framing.keys)
    records = of_kind(lines, "record")
    assert [line for record in records for line in canonical(path.name, record)] == wanted
    assert [record["end"] for record in records] == [*chain(*written.record_ends)]
    shown = of_kind(lines, "section")
    assert tuple(section["end"] for section in shown) == written.section_ends
    assert tuple(section["file"]["from"] for section in shown) == written.markers
    assert lines[-1]["tail"]["file"]["from"] == written.chain_end
    epochs = {update.get("epoch") for record in records for update in record["mutation"]["tree"]}
    forms = {form.epoch for section in workload.sections for _, form in section}
    assert epochs <= (forms if version >= 9 else {None})


each_version = pytest.mark.parametrize("version", [6, 7, 8, 9])
written_examples = partial(
    settings,
    # A failure says enough; making it smaller takes minutes.
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@each_version
@written_examples(max_examples=4)
@given(data=st.data())
def test_every_reader_reads_written_segments(
    version: int, data: st.DataObject, tmp_path: Path
) -> None:
    """Random schemas and mutations in every version and framing."""
    check_written(version, data, tmp_path)


@pytest.mark.slow
@each_version
@written_examples(max_examples=100)
@given(data=st.data())
def test_every_reader_reads_many_written_segments(
    version: int, data: st.DataObject, tmp_path: Path
) -> None:
    check_written(version, data, tmp_path)


def test_records_after_an_unknown_table_have_their_position(tmp_path: Path) -> None:
    unknown = UUID("6a1c395e-b41f-11e5-9f22-ba0be0483c18")
    other = UUID("7a1c395e-b41f-11e5-9f22-ba0be0483c18")
    both = commitlog.Schema.from_cql(
        "".join(
            f"CREATE TABLE k.{name} (p text, c int, v text, PRIMARY KEY (p, c)) "
            f"WITH ID = {table_id};\n"
            for name, table_id in (("t", TABLE), ("u", other))
        )
    )
    updates = [
        writer.update(table_id, writer.insert(1, b"value")) for table_id in (TABLE, unknown, other)
    ]
    path = tmp_path / NAME
    path.write_bytes(writer.segment([[writer.mutation(*updates)]]))
    (record,) = of_kind(structure(path, both), "record")
    mutation = record["mutation"]
    found = [(update["update"], update["table"]) for update in mutation["tree"]]
    assert found == [(0, "t"), (1, None), (2, "u")]
    assert mutation["undecoded"]["at"] == mutation["tree"][1]["at"]
    assert mutation["undecoded"]["bytes"] == len(updates[1])
    assert mutation["tree"][2]["at"] == mutation["tree"][1]["at"] + len(updates[1])
    assert [len(update.get("items", ())) for update in mutation["tree"]] == [1, 0, 1]

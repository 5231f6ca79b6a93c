"""The tree of a segment matches the bytes, Cassandra's own reader and the plain reader."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import chain, groupby
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
from tests.oracle.reference.records import read_records
from tests.oracle.reference.sections import read_sections
from tests.oracle.writer import FRAMINGS, write_mutation, write_segment
from tests.oracle.writer.expected import expected
from tests.oracle.writer.strategies import workloads
from tests.support.segments.damaged_segments import LZ4, NAME, PLAIN, SCHEMA, TABLE, flips
from tests.support.segments.segment_reading import dump, overwrite, reader_of, schema_of, unpacked

pytestmark = pytest.mark.heavy

Json = Mapping[str, Any]

_TIMES = r"ts=\S+(?: ttl=\S+)?(?: ldt=\S+)?"
_SHORTER = (
    (re.compile(r"  record \d+ to (\d+)"), r"\1"),
    (re.compile(r"    (\S+ \([0-9a-f-]{36}\)) .*"), r"\1"),
    (re.compile(rf"      (row|static).*?((?: inserted {_TIMES})?(?: deleted {_TIMES})?)"), r"\1\2"),
    (re.compile(rf"      ([A-Z_]+) .*?({_TIMES}(?:, {_TIMES})?)"), r"\1 \2"),
    (re.compile(rf"        (.+?) = .*? ({_TIMES})"), r"\1 = \2"),
)
"""A line of the tree without its values."""


def tree(
    path: Path,
    schema: commitlog.Schema | None = None,
    *,
    max_bytes: int = 1 << 20,
    keys: Mapping[str, bytes] | None = None,
) -> list[str]:
    """All lines of a finished segment."""
    chunks = iter(partial(reader_of(path, keys=keys).tree, schema, max_bytes=max_bytes), b"")
    return b"".join(chunks).decode().split("\n")[:-1]


def records(lines: list[str]) -> list[list[str]]:
    """The lines of each record."""
    found: list[list[str]] = []
    for line in lines:
        if line.startswith("  record"):
            found.append([line])
        elif line.startswith("    "):
            found[-1].append(line)
    return found


def outline(lines: list[str]) -> list[list[str]]:
    """Each decoded mutation without values, the cells of a row sorted."""
    found = []
    for record in records(lines):
        shorter = [_short(line) for line in record]
        if not any(line.startswith("undecoded") for line in shorter):
            depths = [len(line) - len(line.lstrip(" ")) for line in record]
            pairs = groupby(zip(depths, shorter, strict=True), lambda pair: pair[0] == 8)
            groups = [(is_cells, [text for _, text in group]) for is_cells, group in pairs]
            found.append([*chain(*(sorted(g) if is_cells else g for is_cells, g in groups))])
    return found


def _short(line: str) -> str:
    for pattern, text in _SHORTER:
        if match := pattern.fullmatch(line):
            return match.expand(text)
    return line.strip()


def outline_of(updates: list[dict[str, Any]]) -> list[list[str]]:
    """The outline of updates in the canonical dump."""
    return [
        [str(pos), *chain(*map(_update, group))]
        for pos, group in groupby(updates, lambda update: update["pos"])
    ]


def _update(update: Json) -> Iterator[str]:
    yield f"{update['ks']}.{update['table']} ({update['id']})"
    if update["del"]:
        yield f"deleted {_times(update['del'])}"
    if update["static"]:
        yield from _row("static", update["static"])
    for item in update["items"]:
        if item["t"] == "row":
            yield from _row("row", item)
        else:
            deletions = [item[name] for name in ("del", "close", "open") if name in item]
            yield f"{item['kind']} {', '.join(map(_times, deletions))}"


def _row(word: str, row: Json) -> Iterator[str]:
    inserted = f" inserted {_times(row['live'])}" if row["live"] else ""
    yield word + inserted + (f" deleted {_times(row['del'])}" if row["del"] else "")
    cells = [f"{each['col']} deleted {_times(each)}" for each in row["cdel"]]
    for cell in row["cells"]:
        path = "" if cell["path"] is None else f"[0x{cell['path']}]"
        verb = "deleted" if cell["kind"] == "tombstone" else "="
        cells.append(f"{cell['col']}{path} {verb} {_times(cell)}")
    yield from sorted(cells)


def _times(entry: Json) -> str:
    known = ((name, entry.get(name)) for name in ("ts", "ttl", "ldt"))
    return " ".join(f"{name}={value}" for name, value in known if value is not None)


@pytest.mark.parametrize("scenario", rows(scenarios()))
def test_tree_of_recordings_matches_cassandras_updates(scenario: Scenario, tmp_path: Path) -> None:
    found, schema, keys = [], schema_of(scenario), scenario.keys()
    for packed, name in scenario.segments():
        path = unpacked(packed, name, tmp_path)
        data, lines = path.read_bytes(), tree(path, schema, keys=keys)
        assert tree(path, schema, max_bytes=1, keys=keys) == lines
        found += outline(lines)
        descriptor = read_descriptor(data, name)
        assert lines[0].startswith(f"{name}: version {descriptor.version}, id {descriptor.id}, ")
        sections = list(read_sections(data, descriptor, keys))
        assert [line for line in lines if line.startswith("section")] == [
            f"section to {each.end}, file {each.marker} to {each.file_end}" for each in sections
        ]
        plain = [each for section in sections for each in read_records(section, name, Counter())]
        assert [record[0] for record in records(lines)] == [
            f"  record {each.start} to {each.end}" for each in plain
        ]
    assert found == outline_of(scenario.expected())


@pytest.mark.parametrize("whole", [PLAIN, LZ4], ids=["plain", "lz4"])
def test_flipped_bit_changes_no_other_record_of_tree(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_bytes(whole)
    known = records(tree(path, SCHEMA))
    # The step of 37 covers each bit of a byte and some bits of each part.
    for bit, damaged in flips(whole, iter(range(0, len(whole) * 8, 37))):
        overwrite(path, damaged)
        try:
            lines = tree(path, SCHEMA)
        except (commitlog.CorruptSegmentError, commitlog.UnsupportedFeatureError):
            continue
        assert lines[-1].startswith("end "), f"bit {bit}"
        assert all(record in known for record in records(lines)), f"bit {bit}"


def test_tree_shows_values_of_events(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_bytes(PLAIN)
    record = records(tree(path, SCHEMA))[0]
    assert f'({TABLE}) p = "a"' in record[1]
    assert record[2].startswith("      row c = 0 inserted ts=")
    assert record[3].startswith('        v = "value-0" ts=')


def test_unknown_table_ends_mutation_in_tree(tmp_path: Path) -> None:
    unknown = UUID("6a1c395e-b41f-11e5-9f22-ba0be0483c18")
    updates = [writer.update(each, writer.insert(1, b"value")) for each in (TABLE, unknown, TABLE)]
    path = tmp_path / NAME
    path.write_bytes(writer.segment([[writer.mutation(*updates)]]))
    (record,) = records(tree(path, SCHEMA))
    assert [line for line in record if TABLE.hex[:8] in line] == [record[1]]
    assert record[-1].startswith("    undecoded: ")
    assert str(unknown) in record[-1]
    ((_, bare),) = records(tree(path))
    assert str(TABLE) in bare


def check_written(version: int, data: st.DataObject, folder: Path) -> None:
    """Compare how the dump, the plain reader and the tree read a workload."""
    workload = data.draw(workloads(version))
    framing = data.draw(st.sampled_from(FRAMINGS))
    payloads = [[write_mutation(*each) for each in section] for section in workload.sections]
    written = write_segment(payloads, version, framing=framing)
    path = folder / f"CommitLog-{version}-1.log"
    overwrite(path, written.data)
    schema = commitlog.Schema.from_cql(workload.schema_text)
    wanted = expected(workload, written, path.name)
    dumped = dump(path, schema, keys=framing.keys)
    assert (dumped.gaps, dumped.lines) == ([], wanted)
    plain_schema = parse_schema(workload.schema_text)
    plain = read_segment(written.data, path.name, plain_schema, keys=framing.keys)
    assert [to_line(update) for update in plain] == wanted
    lines = tree(path, schema, keys=framing.keys)
    assert outline(lines) == outline_of(wanted)
    sections = [line for line in lines if line.startswith("section")]
    ends = zip(written.section_ends, written.markers, sections, strict=True)
    assert all(line.startswith(f"section to {end}, file {at} to ") for end, at, line in ends)


each_version = pytest.mark.parametrize("version", [6, 7, 8, 9])
written_examples = partial(
    settings,
    # A failure is clear enough as it is; shrinking it takes minutes.
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@each_version
@written_examples(max_examples=4)
@given(data=st.data())
def test_all_readers_agree_on_written_segments(
    version: int, data: st.DataObject, tmp_path: Path
) -> None:
    """Random schemas and mutations in every version and framing."""
    check_written(version, data, tmp_path)


@pytest.mark.slow
@each_version
@written_examples(max_examples=100)
@given(data=st.data())
def test_all_readers_agree_on_many_written_segments(
    version: int, data: st.DataObject, tmp_path: Path
) -> None:
    check_written(version, data, tmp_path)

"""Damaged segments: what is given is right, and where it stops is said."""

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

from tests.oracle.reference import (
    CorruptSegmentError,
    SegmentError,
    StaleSchemaError,
    UnsupportedSegmentError,
    dump,
    to_line,
)
from tests.oracle.reference.model import Row, Update
from tests.oracle.reference.schema_text import parse_schema
from tests.oracle.reference.segment import read_segment
from tests.oracle.writer import (
    LZ4,
    header,
    insert,
    lz4_segment,
    marker,
    mutation,
    record,
    segment,
    update,
)

NAME = "CommitLog-7-1.log"
TABLE_ID = UUID("240c5050-e5c9-11f1-998c-b39dc08f01bb")
OTHER_ID = UUID("2f10e6a0-e5c9-11f1-998c-b39dc08f01bb")
SCHEMA_TEXT = (
    f"CREATE TABLE k.t (p text, c int, v text, m map<int, int>, PRIMARY KEY (p, c)) "
    f"WITH ID = {TABLE_ID}"
)
SCHEMA = parse_schema(SCHEMA_TEXT)

INSERTS = [mutation(update(TABLE_ID, insert(number, b"value"))) for number in range(3)]
SECTIONS = [INSERTS[:2], INSERTS[2:], []]


def read_until_damage(data: bytes) -> tuple[list[Update], SegmentError | None]:
    updates = []
    try:
        for found in read_segment(data, NAME, SCHEMA):
            updates.append(found)
    except SegmentError as error:
        return updates, error
    return updates, None


WHOLE = segment(SECTIONS)
TRUTH, _ = read_until_damage(WHOLE)


def flips(data: bytes) -> Iterator[tuple[int, bytes]]:
    for bit in range(8 * len(data)):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        yield bit // 8, bytes(changed)


def test_the_whole_segment() -> None:
    rows = [item for u in TRUTH for item in u.partition.items if isinstance(item, Row)]
    values = [row.cells[0].value for row in rows]
    assert values == [b"value"] * 3
    assert [u.index for u in TRUTH] == [0, 0, 0]
    assert TRUTH[-1].position + 8 <= len(WHOLE)
    assert read_until_damage(lz4_segment(SECTIONS)) == (
        [_moved(u) for u in TRUTH],
        None,
    )


def _moved(found: Update) -> Update:
    """The same update in the LZ4 segment, whose longer header moves all logical positions."""
    shift = len(header(7, 1, LZ4.parameters)) - len(header(7, 1))
    return Update(
        found.segment, found.position + shift, found.index, found.updates, found.partition
    )


@pytest.mark.parametrize("whole", [WHOLE, lz4_segment(SECTIONS)], ids=["plain", "lz4"])
def test_a_flipped_bit_never_gives_another_update(whole: bytes) -> None:
    truth, _ = read_until_damage(whole)
    for offset, damaged in flips(whole):
        updates, error = read_until_damage(damaged)
        assert updates == truth[: len(updates)], offset
        # Only what stands behind the chain may change without being noticed.
        assert error is not None or updates == truth, offset


@pytest.mark.parametrize("whole", [WHOLE, lz4_segment(SECTIONS)], ids=["plain", "lz4"])
def test_a_segment_cut_anywhere_gives_a_beginning(whole: bytes) -> None:
    truth, _ = read_until_damage(whole)
    for length in range(len(whole)):
        updates, _ = read_until_damage(whole[:length])
        assert updates == truth[: len(updates)], length


def test_whole_records_behind_the_chain_are_not_read() -> None:
    behind = bytes(8) + record(INSERTS[0]) + marker(1, len(WHOLE), len(WHOLE) + 8)
    assert read_until_damage(segment(SECTIONS, tail=behind)) == (TRUTH, None)


def test_a_length_of_zero_ends_its_section_only() -> None:
    start = header(7, 1)
    content = record(INSERTS[0]) + bytes(40)
    data = start + marker(1, len(start), len(start) + 8 + len(content)) + content
    following = record(INSERTS[1])
    data += marker(1, len(data), len(data) + 8 + len(following)) + following
    skipped: Counter[str] = Counter()
    found = list(read_segment(data, NAME, SCHEMA, skipped))
    assert [u.partition for u in found] == [u.partition for u in TRUTH[:2]]
    assert skipped == {"zeros instead of a record": 1}


def test_a_mutation_with_an_unknown_table_is_left_out_as_a_whole() -> None:
    known, unknown = update(TABLE_ID, insert(0, b"x")), update(OTHER_ID, insert(0, b"x"))
    skipped: Counter[str] = Counter()
    data = segment([[mutation(known, unknown), mutation(unknown), mutation(known, known)]])
    found = list(read_segment(data, NAME, SCHEMA, skipped))
    assert [(u.index, u.updates) for u in found] == [(0, 2), (1, 2)]
    assert skipped == {f"unknown table {OTHER_ID}": 2}


def test_an_unknown_column_is_an_error_of_the_schema() -> None:
    data = segment([[mutation(update(TABLE_ID, insert(0, b"x"), columns=(b"nope",)))]])
    with pytest.raises(StaleSchemaError, match=r"position 28: column 'nope' .* k\.t"):
        list(read_segment(data, NAME, SCHEMA))


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("CommitLog-7-2.log", WHOLE, "unlike the name"),
        ("CommitLog-8-1.log", WHOLE, "unlike the name"),
        ("CommitLog.log", WHOLE, "not a segment name"),
        (NAME, b"", "header is cut short"),
        (NAME, segment([], parameters=b"["), "not JSON"),
        (NAME, segment([], parameters=b"[]"), "not a JSON object"),
        (NAME, segment([[b"\x00"]]), "without an update"),
        (NAME, segment([[INSERTS[0] + b"\x00"]]), "bytes behind the last update"),
        (NAME, segment([[INSERTS[0][:-1]]]), "1 bytes expected, 0 left"),
        (NAME, segment([[mutation(update(TABLE_ID, b"\x02\x01\x00\x03"))]]), "bound of 3 values"),
        (NAME, segment([[mutation(update(TABLE_ID, b"\x02\x04\x00\x00"))]]), "bound of kind 4"),
        (
            NAME,
            segment([[mutation(update(TABLE_ID, b"\x20\x00" + bytes(4) + b"\x03"))]]),
            "cell flags",
        ),
        (
            NAME,
            segment([[mutation(update(TABLE_ID, b"\x20\x00" + bytes(4) + b"\x08"))]]),
            "does not have",
        ),
    ],
)
def test_faults_are_reported(name: str, data: bytes, message: str) -> None:
    with pytest.raises(CorruptSegmentError, match=message):
        list(read_segment(data, name, SCHEMA))


def test_command_prints_intact_records_and_reports_damage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = bytearray(WHOLE)
    damaged[TRUTH[-1].position - 1] ^= 1
    with gzip.open(tmp_path / f"{NAME}.gz", "wb") as file:
        file.write(damaged)
    schema = tmp_path / "schema.cql"
    schema.write_text(SCHEMA_TEXT, encoding="utf-8")
    assert dump.main(["--schema", str(schema), str(tmp_path / f"{NAME}.gz")]) == 1
    printed = capsys.readouterr()
    lines = [json.loads(line) for line in printed.out.splitlines()]
    assert lines == [to_line(u) for u in TRUTH[:2]]
    assert printed.err.startswith(f"dump: {NAME}, position {TRUTH[1].position + 8}: checksum")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (b'{"compressionClass":"org.example.Own"}', r"org\.example\.Own"),
        (b'{"encCipher":"AES\\/ECB\\/NoPadding","encKeyAlias":"k"}', "with AES/ECB/NoPadding"),
        (b'{"encCipher":"AES\\/CBC\\/PKCS5Padding","encKeyAlias":"k"}', "no key k"),
    ],
)
def test_unsupported_setting_is_named(parameters: bytes, message: str) -> None:
    with pytest.raises(UnsupportedSegmentError, match=message):
        list(read_segment(segment([], parameters=parameters), NAME, SCHEMA))

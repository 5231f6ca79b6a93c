"""The mutations read from a recorded Accord journal match the node's answers."""

import random
import zlib
from pathlib import Path
from typing import Any

import pytest

from commitlog import AccordReader, ColumnIds, Schema
from tests.support.node.accord_journal import (
    MUTATIONS,
    WRITTEN_BYTES,
    answers,
    column_ids,
    entries,
    events_of,
    journal_bytes,
    schema,
)

UNLIMITED = 1 << 30


def segments(folder: Path, data: bytes, limit: int = UNLIMITED) -> list[Path]:
    """Commit-log segments of at least `limit` bytes of mutations each."""
    reader, offset = AccordReader(b""), 0
    paths: list[Path] = []
    while True:
        read = reader.read(data[offset:], offset, schema(), column_ids(), limit)
        offset = read.offset
        if read.mutations:
            paths.append(folder / f"CommitLog-9-{len(paths) + 1}.log")
            paths[-1].write_bytes(read.segment(len(paths)))
        if read.stop != "full":
            assert (read.stop, read.error) == ("unwritten", "")
            return paths
        # Another process resumes from the state that the last one stored.
        reader = AccordReader(reader.to_stored())


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    (path,) = segments(tmp_path_factory.mktemp("accord"), journal_bytes())
    return events_of(path)


def test_live_value_matches_event_with_same_write_time(events: list[dict[str, Any]]) -> None:
    compared = 0
    for table, rows in answers().items():
        for row in rows:
            for column, times in row["writetimes"].items():
                for time_us in times if isinstance(times, list) else [times]:
                    if time_us is None or (isinstance(times, list) and len(times) > 1):
                        continue
                    values = [
                        event["value"]["after"][column]["value"]
                        for event in events
                        if event["topic"] == f"test.{table}"
                        and event["value"]["source"]["ts_us"] == time_us
                        and all(row.get(k) == v for k, v in event["key"].items() if v is not None)
                        and event["value"]["after"].get(column) is not None
                    ]
                    assert row[column] in values or isinstance(times, list), (table, row, column)
                    assert values, (table, row, column)
                    compared += 1
    assert compared == 14


def test_unmet_transaction_condition_writes_nothing(events: list[dict[str, Any]]) -> None:
    written = [
        event["value"]["after"]["v"]["value"]
        for event in events
        if event["topic"] == "test.k.u" and event["key"] == {"id": 1}
    ]
    # The first transaction inserts 10, the second adds 5, the third requires 999.
    assert written == [10, 15]


def test_deletions_precede_writes_of_same_transaction(
    events: list[dict[str, Any]],
) -> None:
    deletions = [
        (event["topic"], event["key"], event["value"]["op"])
        for event in events
        if event["value"]["op"] in "dr"
    ]
    assert deletions == [
        ("test.k.w", {"p": 2, "c": 1}, "d"),
        ("test.k.w", {"p": 4, "c": None}, "r"),
        ("test.k.w", {"p": 1, "c": None}, "d"),
    ]


def test_batches_and_clients_keep_their_write_times(events: list[dict[str, Any]]) -> None:
    times = {
        event["key"]["id"]: event["value"]["source"]["ts_us"]
        for event in events
        if event["topic"] == "test.k.u" and event["key"]["id"] > 7
    }
    assert times == {8: 12345, 9: 1795711376895592, 10: 1795711376895592}


def test_reading_in_parts_returns_same_events(events: list[dict[str, Any]], tmp_path: Path) -> None:
    paths = segments(tmp_path, journal_bytes(), limit=1)
    assert len(paths) > 15
    parts = [event for path in paths for event in events_of(path)]
    assert [each["headers"]["cdc.id"] for each in parts] == [
        each["headers"]["cdc.id"] for each in events
    ]


def test_partial_entry_is_read_once_complete() -> None:
    data, reader, offset = journal_bytes(), AccordReader(b""), 0
    mutations, wanted = 0, 0
    while offset < WRITTEN_BYTES:
        end = max(wanted, offset + 500)
        read = reader.read(data[offset:end], offset, schema(), column_ids(), UNLIMITED)
        mutations += read.mutations
        offset = read.offset
        assert read.stop in ("needs_bytes", "unwritten")
        wanted = read.end or 0
    assert mutations == MUTATIONS
    assert reader.waiting == (0, None)


def test_incomplete_entry_is_reported_as_incomplete() -> None:
    data = bytearray(journal_bytes())
    data[WRITTEN_BYTES - 1] ^= 1
    read = AccordReader(b"").read(bytes(data), 0, schema(), column_ids(), UNLIMITED)
    assert (read.stop, read.end, read.error) == ("incomplete", WRITTEN_BYTES, "")
    assert read.offset < WRITTEN_BYTES


@pytest.mark.parametrize(
    ("known", "ids", "error"),
    [
        (Schema.from_cql(""), column_ids(), "is not in the schema"),
        (schema(), ColumnIds([]), "has no column with the id"),
        (schema(), ColumnIds(entries()[:1]), "has no column with the id"),
    ],
)
def test_unknown_table_or_column_blocks_until_schema_arrives(
    known: Schema, ids: ColumnIds, error: str
) -> None:
    data, reader = journal_bytes(), AccordReader(b"")
    blocked = reader.read(data, 0, known, ids, UNLIMITED)
    assert blocked.stop == "blocked"
    assert error in blocked.error
    assert blocked.mutations == 0
    offset = blocked.offset
    again = reader.read(data[offset:], offset, known, ids, UNLIMITED)
    assert (again.stop, again.offset) == ("blocked", offset)
    read = reader.read(data[offset:], offset, schema(), column_ids(), UNLIMITED)
    assert (read.stop, read.mutations) == ("unwritten", MUTATIONS)


def test_blocked_transaction_can_be_skipped() -> None:
    data, reader = journal_bytes(), AccordReader(b"")
    blocked = reader.read(data, 0, schema(), ColumnIds([]), UNLIMITED)
    offset = reader.skip(data[blocked.offset :], blocked.offset)
    assert offset is not None
    read = reader.read(data[offset:], offset, schema(), column_ids(), UNLIMITED)
    assert read.stop == "unwritten"
    assert 0 < read.mutations < MUTATIONS
    assert reader.skip(data[read.offset :], read.offset) is None


def test_table_without_cdc_yields_no_mutations() -> None:
    text = (Path(__file__).parents[3] / "fixtures/6.0-none/accord/schema.cql").read_text()
    without = Schema.from_cql(text.replace("cdc = true", "cdc = false"))
    read = AccordReader(b"").read(journal_bytes(), 0, without, column_ids(), UNLIMITED)
    assert (read.stop, read.mutations) == ("unwritten", 0)


def test_unknown_version_of_stored_state_is_rejected() -> None:
    with pytest.raises(ValueError, match="version of stored transactions"):
        AccordReader(b"\x09")


def entries_of(data: bytes) -> list[tuple[int, int]]:
    """The start and the end of each entry."""
    found: list[tuple[int, int]] = []
    offset = 0
    while end := int.from_bytes(data[offset : offset + 4], "big"):
        found.append((offset, end))
        offset = end
    return found


def with_checksums(data: bytearray, start: int, end: int) -> None:
    """Recompute both checksums of an entry (`journal/EntrySerializer`)."""
    head = zlib.crc32(data[start : start + 29], zlib.crc32(bytes.fromhex("fa2d55ca")))
    data[start + 29 : start + 33] = head.to_bytes(4, "big")
    data[end - 4 : end] = zlib.crc32(data[start + 33 : end - 4], head).to_bytes(4, "big")


def test_computed_checksums_match_recording() -> None:
    data = bytearray(journal_bytes())
    for start, end in entries_of(journal_bytes()):
        with_checksums(data, start, end)
    assert bytes(data) == journal_bytes()


def test_damage_with_valid_checksums_is_reported() -> None:
    """Simulates entries of another Cassandra version or partitioner."""
    numbers = random.Random(7)
    original = journal_bytes()
    spans = [span for span in entries_of(original) if span[0] > 46_000]
    known, ids = schema(), column_ids()
    stops = set()
    for _ in range(1500):
        start, end = numbers.choice(spans)
        data = bytearray(original[start:end])
        for _ in range(numbers.randrange(1, 4)):
            data[numbers.randrange(33, len(data) - 4)] = numbers.randrange(256)
        whole = bytearray(original[:start]) + data
        with_checksums(whole, start, end)
        read = AccordReader(b"").read(bytes(whole[start:]), start, known, ids, UNLIMITED)
        stops.add(read.stop)
        if read.stop == "undecodable":
            assert read.error
            assert read.end == end
    assert "undecodable" in stops
    assert stops <= {"undecodable", "needs_bytes", "blocked"}

"""Batches: limits, positions, filters and the forms that the agent relies on."""

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

import commitlog
from tests.oracle import writer
from tests.support.segments.segment_reading import FORMAT, dump

TABLE = UUID("5a1c395e-b41f-11e5-9f22-ba0be0483c18")
OTHER = UUID("6a1c395e-b41f-11e5-9f22-ba0be0483c18")
LATER = UUID("7a1c395e-b41f-11e5-9f22-ba0be0483c18")
# Derived from the table's name, like the ids of system tables.
SYSTEM = UUID("5a1c395e-b41f-31e5-9f22-ba0be0483c18")


def table(name: str, table_id: UUID, options: str = "cdc = true") -> str:
    return (
        f"CREATE TABLE k.{name} (p text, c int, v text, PRIMARY KEY (p, c))"
        f" WITH ID = {table_id} AND {options};\n"
    )


SCHEMA = commitlog.Schema.from_cql(table("t", TABLE) + table("o", OTHER))


def form(**options: Any) -> commitlog.EventFormat:
    return commitlog.EventFormat(topic_prefix="test", cluster="c", node_id="n", **options)


def rows(table_id: UUID, *clusterings: int) -> bytes:
    """An update with one insert for each clustering."""
    return writer.update(table_id, b"".join(writer.insert(c, b"v%d" % c) for c in clusterings))


def segment(folder: Path, *payloads: bytes, name: str = "CommitLog-7-5.log") -> Path:
    path = folder / name
    path.write_bytes(writer.segment([payloads], segment_id=5))
    return path


def read_all(
    path: Path,
    schema: commitlog.Schema = SCHEMA,
    event_format: commitlog.EventFormat = FORMAT,
    max_events: int = 1000,
) -> list[commitlog.EventBatch]:
    reader = commitlog.SegmentReader(str(path))
    batches = []
    while True:
        batch = reader.read(schema, event_format, complete=True, max_events=max_events)
        batches.append(batch)
        if batch.stop != "full":
            return batches


def clusterings(batches: list[commitlog.EventBatch]) -> list[int]:
    lines = [line for batch in batches for line in batch.ndjson(0, len(batch)).splitlines()]
    return [json.loads(line)["key"]["c"] for line in lines]


@given(st.lists(st.integers(1, 4), min_size=1, max_size=12), st.integers(1, 9))
def test_position_advances_only_at_mutation_ends(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], max_events: int
) -> None:
    payloads = [writer.mutation(rows(TABLE, *range(size))) for size in sizes]
    path = segment(tmp_path_factory.mktemp("positions"), *payloads)
    start = len(writer.header(7, 5)) + 8
    ends = [start]
    for payload in payloads:
        ends.append(ends[-1] + len(writer.record(payload)))
    done = 0
    for batch in read_all(path, max_events=max_events):
        first_mutation = next(i for i in range(len(sizes) + 1) if sum(sizes[:i]) == done)
        for events in range(len(batch) + 1):
            whole = first_mutation
            while whole < len(sizes) and sum(sizes[: whole + 1]) <= done + events:
                whole += 1
            position = batch.position_after(events)
            if events == len(batch):
                assert position == batch.end_position
            elif whole == first_mutation:
                assert position == batch.start_position
            else:
                assert position == ends[whole]
        done += len(batch)
    assert done == sum(sizes)


def test_empty_rows_yield_no_events(tmp_path: Path) -> None:
    """An update that changes nothing leaves an empty row; Cassandra's reader skips it too."""
    empty = bytes([0]) + writer.uvint(0) + writer.be32(7) + writer.uvint(1)
    items = empty + writer.insert(1, b"v") + empty
    path = segment(tmp_path, writer.mutation(writer.update(TABLE, items)))
    assert clusterings(read_all(path)) == [1]
    (line,) = dump(path, SCHEMA).lines
    assert [item["ck"] for item in line["items"]] == [["00000001"]]
    assert commitlog.SegmentReader(str(path)).scan(SCHEMA).rows == 1


def test_messages_equal_lines(tmp_path: Path) -> None:
    path = segment(tmp_path, writer.mutation(rows(TABLE, 1, 2), rows(OTHER, 3)))
    (batch,) = read_all(path)
    lines = [json.loads(line) for line in batch.ndjson(0, 3).splitlines()]
    messages = batch.messages(0, 3)
    assert len(lines) == len(messages) == 3
    for line, (topic, key, value, headers, partition_hash) in zip(lines, messages, strict=True):
        assert (line["topic"], line["key"]) == (topic, json.loads(key))
        assert line["value"] == json.loads(value or b"")
        named = dict(headers)
        assert (line["headers"]["cdc.id"], len(named["cdc.id"])) == (named["cdc.id"].hex(), 16)
        for name in ("cdc.source", "cdc.ts_us", "cdc.kind"):
            assert line["headers"][name] == named[name].decode()
        assert 0 <= partition_hash < 1 << 31
    assert [line["headers"]["cdc.source"] for line in lines] == [
        f"node/5/{batch.end_position}/{index}" for index in range(3)
    ]
    assert [topic for topic, *_ in messages] == ["test.k.t", "test.k.t", "test.k.o"]
    assert batch.messages(1, 2) == messages[1:2]
    assert batch.size_bytes == sum(len(key) + len(value or b"") for _, key, value, _, _ in messages)
    assert batch.counts == {("k.t", "i"): 2, ("k.o", "i"): 1}


def test_kafka_client_arguments_equal_messages(tmp_path: Path) -> None:
    path = segment(tmp_path, writer.mutation(rows(TABLE, 1, 2), rows(OTHER, 3), rows(TABLE, 4)))
    (batch,) = read_all(path)
    counts: dict[str, int | None] = {"test.k.t": 3, "test.k.o": 5}
    asked: list[str] = []

    def partitions(topic: str) -> int | None:
        asked.append(topic)
        return counts[topic]

    arguments = batch.produce_arguments(0, 4, partitions, print)
    assert asked == ["test.k.t", "test.k.o"]
    assert arguments == [
        (topic, value, key, partition_hash % (counts[topic] or 1), print, None, 0, headers)
        for topic, key, value, headers, partition_hash in batch.messages(0, 4)
    ]
    assert batch.produce_arguments(1, 2, partitions, print) == arguments[1:2]
    counts["test.k.o"] = None
    assert batch.produce_arguments(0, 4, partitions, print) == arguments[:2]
    assert batch.produce_arguments(2, 4, partitions, print) == []
    counts.clear()
    with pytest.raises(KeyError, match=r"test\.k\.t"):
        batch.produce_arguments(0, 4, partitions, print)


def test_partition_follows_partition_key(tmp_path: Path) -> None:
    path = segment(tmp_path, writer.mutation(rows(TABLE, 1, 2)))
    by_partition = read_all(path)[0].messages(0, 2)
    by_key = read_all(path, event_format=form(partition_by="key"))[0].messages(0, 2)
    assert by_partition[0][4] == by_partition[1][4]
    assert by_key[0][4] != by_key[1][4]


@pytest.mark.parametrize(
    ("text", "options", "skipped"),
    [
        (table("t", TABLE, "cdc = false"), {}, {"not_cdc": 2}),
        (table("t", TABLE), {"include": ["k.other"]}, {"filtered": 2}),
        # A pattern matches the whole name.
        (table("t", TABLE), {"include": ["k"]}, {"filtered": 2}),
        (table("t", TABLE), {"include": [r"k\..*"], "exclude": ["k.t"]}, {"filtered": 2}),
        (
            f"CREATE TABLE k.n (p text, c int, v counter, PRIMARY KEY (p, c)) WITH ID = {TABLE}"
            " AND cdc = true;",
            {},
            {"counter": 2},
        ),
    ],
)
def test_unpublished_updates_are_counted(
    text: str, options: dict[str, Any], skipped: dict[str, int], tmp_path: Path
) -> None:
    path = segment(tmp_path, writer.mutation(rows(TABLE, 1)), writer.mutation(rows(TABLE, 1, 2, 3)))
    event_format = form(**options)
    (batch,) = read_all(path, commitlog.Schema.from_cql(text), event_format)
    assert (len(batch), batch.skipped, batch.mutations) == (0, skipped, 2)


def test_invalid_table_pattern_is_rejected() -> None:
    with pytest.raises(ValueError, match="regular expression"):
        form(include=["("])


def test_mixed_batch_yields_published_part(tmp_path: Path) -> None:
    """The order of the updates in the batch does not matter."""
    schema = commitlog.Schema.from_cql(table("t", TABLE) + table("o", OTHER, "cdc = false"))
    for updates in ((rows(TABLE, 1), rows(OTHER, 2)), (rows(OTHER, 2), rows(TABLE, 1))):
        path = segment(tmp_path, writer.mutation(*updates), writer.mutation(rows(TABLE, 3)))
        batches = read_all(path, schema)
        assert (clusterings(batches), batches[0].skipped) == ([1, 3], {"not_cdc": 1})


def test_system_tables_are_skipped_by_id(tmp_path: Path) -> None:
    path = segment(
        tmp_path, writer.mutation(rows(SYSTEM, 1), rows(SYSTEM, 2)), writer.mutation(rows(TABLE, 3))
    )
    (batch,) = read_all(path)
    assert (clusterings([batch]), batch.skipped) == ([3], {"system": 2})


def test_unknown_table_blocks_until_schema_arrives(tmp_path: Path) -> None:
    path = segment(
        tmp_path,
        writer.mutation(rows(TABLE, 1)),
        writer.mutation(rows(TABLE, 2), rows(LATER, 3)),
        writer.mutation(rows(TABLE, 4)),
    )
    reader = commitlog.SegmentReader(str(path))
    first = reader.read(SCHEMA, FORMAT, complete=True)
    assert first.stop == "blocked"
    assert first.blocked is not None
    assert first.blocked.table_id == str(LATER)
    assert str(LATER) in first.blocked.reason
    assert clusterings([first]) == [1]
    again = reader.read(SCHEMA, FORMAT, complete=True)
    assert (again.stop, len(again)) == ("blocked", 0)
    known = SCHEMA.merged(commitlog.Schema.from_cql(table("later", LATER)))
    rest = reader.read(known, FORMAT, complete=True)
    assert (rest.stop, clusterings([rest])) == ("end", [2, 3, 4])


def test_unknown_column_blocks_and_is_reported(tmp_path: Path) -> None:
    old = commitlog.Schema.from_cql(
        f"CREATE TABLE k.t (p text, c int, w text, PRIMARY KEY (p, c)) WITH ID = {TABLE}"
        " AND cdc = true;"
    )
    reader = commitlog.SegmentReader(str(segment(tmp_path, writer.mutation(rows(TABLE, 1)))))
    batch = reader.read(old, FORMAT, complete=True)
    assert batch.blocked is not None
    assert (batch.blocked.table_id, batch.blocked.column) == (str(TABLE), "v")
    assert clusterings([reader.read(old.merged(SCHEMA), FORMAT, complete=True)]) == [1]


def test_dropped_column_appears_in_earlier_writes(tmp_path: Path) -> None:
    dropped = SCHEMA.merged(
        commitlog.Schema.from_cql(
            f"CREATE TABLE k.t (p text, c int, w text, PRIMARY KEY (p, c)) WITH ID = {TABLE}"
            " AND cdc = true;"
        )
    )
    (batch,) = read_all(segment(tmp_path, writer.mutation(rows(TABLE, 1))), dropped)
    after = json.loads(batch.messages(0, 1)[0][2] or b"")["after"]
    assert after["v"]["value"] == "v1"
    assert after["w"] is None


def test_limit_stops_before_a_section(tmp_path: Path) -> None:
    path = tmp_path / "CommitLog-7-5.log"
    sections = [[writer.mutation(rows(TABLE, 1))], [writer.mutation(rows(TABLE, 2))]]
    path.write_bytes(writer.segment(sections, segment_id=5))
    reader = commitlog.SegmentReader(str(path))
    first = len(writer.header(7, 5)) + 8 + len(writer.record(sections[0][0]))
    none = reader.read(SCHEMA, FORMAT, limit=first - 1)
    assert (len(none), none.stop) == (0, "end")
    one = reader.read(SCHEMA, FORMAT, limit=first)
    assert (clusterings([one]), one.end_position) == ([1], first)
    assert clusterings([reader.read(SCHEMA, FORMAT, limit=1 << 20)]) == [2]

"""Updates of unknown tables: what follows them is found, and nothing that was not written."""

import json
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from commitlog import Blocked, Schema, SegmentReader
from tests.oracle.writer import insert, mutation, update, write_segment
from tests.support.schema_stream import FORMAT

IDS = [UUID(int=0x5A1C395EB41F11E59F22BA0BE0483C00 + number) for number in range(6)]

# Which table, and the values of its rows.
Written = tuple[int, Sequence[bytes]]


def schema_of(numbers: set[int], keyspaces: Sequence[str] = ("k",) * 6) -> Schema:
    return Schema.from_cql(
        "".join(
            f"CREATE TABLE {keyspaces[n]}.t{n} (p text, c int, v text, PRIMARY KEY (p, c)) "
            f"WITH ID = {IDS[n]} AND cdc = true;"
            for n in sorted(numbers)
        )
    )


def payload(updates: Sequence[Written]) -> bytes:
    return mutation(
        *(
            update(IDS[table], b"".join(insert(c, value) for c, value in enumerate(values)))
            for table, values in updates
        )
    )


def read(
    payloads: Sequence[bytes], schema: Schema, folder: Path, abandoned: set[int] | None = None
) -> tuple[list[tuple[int, int, str]], dict[str, int], Blocked | None, list[tuple[int, int]]]:
    """Events as (record, table, value), what was skipped, what blocks, and the ranges lost."""
    segment = write_segment([list(payloads)])
    path = folder / "CommitLog-7-1.log"
    path.write_bytes(segment.data)
    (ends,) = segment.record_ends
    batch = SegmentReader(str(path)).read(
        schema,
        FORMAT,
        complete=True,
        abandoned=[(str(IDS[number]), None) for number in abandoned or set()],
    )
    found = []
    for line in batch.ndjson(0, len(batch)).splitlines():
        event = json.loads(line)
        position = int(event["headers"]["cdc.source"].split("/")[2])
        table = int(event["value"]["source"]["table"][1:])
        found.append((ends.index(position), table, event["value"]["after"]["v"]["value"]))
    lost = [(item.start, item.end) for item in batch.lost]
    return found, dict(batch.skipped), batch.blocked, lost


def events_of(record: int, updates: Sequence[Written]) -> list[tuple[int, int, str]]:
    return [(record, table, value.decode()) for table, values in updates for value in values]


tables = st.lists(st.sampled_from(range(6)), min_size=1, max_size=6, unique=True)
texts = st.lists(st.text(max_size=6).map(str.encode), min_size=1, max_size=3)


@settings(
    max_examples=300,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_known_tables_are_delivered(data: st.DataObject, tmp_path: Path) -> None:
    updates = [(table, data.draw(texts)) for table in data.draw(tables)]
    unknown = data.draw(st.sets(st.sampled_from(range(6)), max_size=4))
    known = set(range(6)) - unknown
    places = [place for place, (table, _) in enumerate(updates) if table in unknown]
    found, skipped, blocked, lost = read([payload(updates)], schema_of(known), tmp_path)
    if not places:
        assert found == events_of(0, updates)
        assert blocked is None
        return
    assert found == []
    assert blocked is not None
    assert blocked.table_id == str(IDS[updates[places[0]][0]])
    found, skipped, blocked, lost = read([payload(updates)], schema_of(known), tmp_path, unknown)
    before, behind = updates[: places[0]], updates[places[-1] + 1 :]
    assert found == events_of(0, [*before, *behind])
    assert skipped == {"unknown_table": len(updates) - len(before) - len(behind)}
    assert blocked is None
    assert len(lost) == 1


@settings(
    max_examples=300,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_data_that_looks_like_updates_gives_no_events(data: st.DataObject, tmp_path: Path) -> None:
    """Values hold whole updates of known tables, for the same partition."""
    unknown, first, second = data.draw(st.permutations(range(6)))[:3]
    looks_like = update(IDS[first], insert(0, b"false"))
    value = data.draw(
        st.sampled_from(
            [
                looks_like,
                looks_like + looks_like,
                looks_like + update(IDS[second], insert(0, b"false")),
                looks_like[: data.draw(st.integers(0, len(looks_like)))],
                mutation(looks_like),
                looks_like * 20,
            ]
        )
    )
    value = data.draw(st.binary(max_size=3)) + value + data.draw(st.binary(max_size=3))
    behind = [(second, data.draw(texts))] if data.draw(st.booleans()) else []
    written = mutation(
        update(IDS[unknown], insert(0, value)),
        *(update(IDS[t], b"".join(insert(c, v) for c, v in enumerate(vs))) for t, vs in behind),
    )
    schema = schema_of({first, second})
    found, _, blocked, _ = read([written], schema, tmp_path, {unknown})
    assert blocked is None
    assert found in ([], events_of(0, behind))
    if value.count(IDS[first].bytes) <= 1:
        assert found == events_of(0, behind)


def test_tables_of_another_keyspace_are_not_looked_for(tmp_path: Path) -> None:
    schema = schema_of({0, 2}, ["k", "k", "other", "k", "k", "k"])
    updates = [(0, [b"a"]), (1, [b"b"]), (2, [b"c"])]
    found, _, blocked, _ = read([payload(updates)], schema, tmp_path, {1})
    assert (found, blocked) == (events_of(0, updates[:1]), None)


def test_mismatched_update_is_no_unknown_table(tmp_path: Path) -> None:
    """The update in front has another form than its table: what is behind it has another key."""
    schema = schema_of({0})
    misread = mutation(
        update(IDS[0], insert(0, b"a")), IDS[1].bytes + b"\x01b" + update(IDS[1], b"")[18:]
    )
    found, _, blocked, _ = read([misread], schema, tmp_path)
    assert found == []
    assert blocked is not None
    assert blocked.table_id == str(IDS[0])


@pytest.mark.parametrize("count", [3000])
def test_abandoned_records_pass_in_one_read(count: int, tmp_path: Path) -> None:
    lost = [payload([(1, [b"x"])])] * count
    records = [*lost, payload([(0, [b"y"])]), *lost]
    found, skipped, blocked, ranges = read(records, schema_of({0}), tmp_path, {1})
    assert found == [(count, 0, "y")]
    assert skipped == {"unknown_table": 2 * count}
    assert blocked is None
    assert len(ranges) == 2

"""Reading resumes after updates of unknown tables and returns nothing that was not written."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from commitlog import Blocked, Schema, SegmentReader
from tests.oracle.reference import parse_schema
from tests.oracle.reference.errors import MalformedError
from tests.oracle.reference.mutation import UnknownColumnError, UnknownTableError, read_mutation
from tests.oracle.reference.schema import Schema as PlainSchema
from tests.oracle.writer import insert, mutation, update, write_segment
from tests.support.segments.schema_stream import FORMAT

pytestmark = pytest.mark.heavy

IDS = [UUID(int=0x5A1C395EB41F11E59F22BA0BE0483C00 + number) for number in range(6)]

LAST_BYTE = 0x01
"""The last byte of every update."""

# A table's index, and the values of its rows.
Written = tuple[int, Sequence[bytes]]


def cql_of(numbers: set[int], keyspaces: Sequence[str] = ("k",) * 6) -> str:
    return "".join(
        f"CREATE TABLE {keyspaces[n]}.t{n} (p text, c int, v text, PRIMARY KEY (p, c)) "
        f"WITH ID = {IDS[n]} AND cdc = true;"
        for n in sorted(numbers)
    )


def schema_of(numbers: set[int], keyspaces: Sequence[str] = ("k",) * 6) -> Schema:
    return Schema.from_cql(cql_of(numbers, keyspaces))


@cache
def parsed(numbers: frozenset[int]) -> PlainSchema:
    """The table for the plain reader."""
    return parse_schema(cql_of(set(numbers)))


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
    """Events as (record, table, value), skipped events, the blocking table, and the lost ranges."""
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
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_known_tables_around_unknown_one_are_delivered(data: st.DataObject, tmp_path: Path) -> None:
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


def looks_like(table: int) -> bytes:
    """An update for the partition of every update here."""
    return update(IDS[table], insert(0, b"false"))


@dataclass(frozen=True, slots=True)
class LookAlike:
    """A value of an unknown table that contains updates of a known one, and the updates after
    it."""

    unknown: int
    known: tuple[int, int]
    """The value resembles updates of the first table, or of both; updates of the second follow."""
    value: bytes
    behind: Sequence[bytes] | None

    @property
    def written(self) -> list[Written]:
        return [] if self.behind is None else [(self.known[1], self.behind)]

    @property
    def payload(self) -> bytes:
        return payload([(self.unknown, [self.value]), *self.written])

    @property
    def explanations(self) -> int:
        """Number of offsets from which the plain reader reads one update to the exact end."""
        schema = parsed(frozenset(self.known))
        ids = [IDS[number].bytes for number in self.known]
        written, found = self.payload, 0
        for at in range(1, len(written)):
            is_start = written[at : at + 16] in ids and written[at - 1] == LAST_BYTE
            if self.behind is None or not is_start:
                continue
            try:
                (read,) = read_mutation(mutation(written[at:]), 7, schema)
            except (MalformedError, UnknownColumnError, UnknownTableError):
                continue
            found += read.key == b"a"
        return found


@st.composite
def look_alikes(draw: st.DrawFn) -> LookAlike:
    unknown, first, second = draw(st.permutations(range(6)))[:3]
    whole = looks_like(first)
    value = draw(
        st.sampled_from(
            [
                whole,
                whole + whole,
                whole + looks_like(second),
                whole[: draw(st.integers(0, len(whole)))],
                mutation(whole),
                whole * 20,
            ]
        )
    )
    around = st.binary(max_size=3) | st.just(bytes([LAST_BYTE]))
    value = draw(around) + value + draw(around)
    return LookAlike(unknown, (first, second), value, draw(st.none() | texts))


# The start of an update, up to the write time of its row. Read from there, the next update becomes
# the row's values, up to the exact end. Reading resumes only after the last byte of an update.
BEGINNING = looks_like(1)[:32] + b"\0"
CLEAR, AMBIGUOUS = (
    LookAlike(0, (1, 2), before + BEGINNING, (b"", b"0", "0000\x80".encode()))
    for before in (b"", bytes([LAST_BYTE]))
)


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@example(case=CLEAR)
@example(case=AMBIGUOUS)
@given(case=look_alikes())
def test_data_resembling_updates_yields_no_events(case: LookAlike, tmp_path: Path) -> None:
    """Events with one explanation are delivered, with several none. The record is always reported
    as lost."""
    schema = schema_of(set(case.known))
    found, skipped, blocked, lost = read([case.payload], schema, tmp_path, {case.unknown})
    is_clear = case.explanations == 1
    assert found == (events_of(0, case.written) if is_clear else [])
    assert skipped == {"unknown_table": 1 if is_clear else 1 + len(case.written)}
    assert blocked is None
    assert len(lost) == 1


def test_example_cases_have_one_and_two_explanations() -> None:
    assert (CLEAR.explanations, AMBIGUOUS.explanations) == (1, 2)


def test_resync_ignores_tables_of_another_keyspace(tmp_path: Path) -> None:
    schema = schema_of({0, 2}, ["k", "k", "other", "k", "k", "k"])
    updates = [(0, [b"a"]), (1, [b"b"]), (2, [b"c"])]
    found, _, blocked, _ = read([payload(updates)], schema, tmp_path, {1})
    assert (found, blocked) == (events_of(0, updates[:1]), None)


def test_mismatched_update_is_not_unknown_table(tmp_path: Path) -> None:
    """The first update does not match its table, and the bytes after it have another key."""
    schema = schema_of({0})
    misread = mutation(
        update(IDS[0], insert(0, b"a")), IDS[1].bytes + b"\x01b" + update(IDS[1], b"")[18:]
    )
    found, _, blocked, _ = read([misread], schema, tmp_path)
    assert found == []
    assert blocked is not None
    assert blocked.table_id == str(IDS[0])


@pytest.mark.parametrize("count", [3000])
def test_abandoned_records_are_skipped_in_one_read(count: int, tmp_path: Path) -> None:
    lost = [payload([(1, [b"x"])])] * count
    records = [*lost, payload([(0, [b"y"])]), *lost]
    found, skipped, blocked, ranges = read(records, schema_of({0}), tmp_path, {1})
    assert (found, skipped) == ([(count, 0, "y")], {"unknown_table": 2 * count})
    assert blocked is None
    assert len(ranges) == 2

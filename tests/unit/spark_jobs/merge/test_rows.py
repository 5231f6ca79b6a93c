"""Visible rows of random events equal those of the merge in plain Python."""

import pickle
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.merge import Merger
from tests.oracle.algebra import Row, RowKey
from tests.oracle.merge.event_strategies import TIMES_US, EventValue, event_values, one_cell_events
from tests.support.events.merge_batches import (
    SCHEMA,
    input_batches,
    items,
    raw_rows,
    table_of,
    typed_rows,
    until,
    without,
)

MERGER = Merger(SCHEMA, "ks", "t")
EVENTS = st.lists(event_values(), max_size=14)
NOWS_S = range(9, 15)


def raw(events: Iterable[Any], now_s: int = 11, **options: Any) -> dict[RowKey, Row]:
    return raw_rows(MERGER.rows(input_batches(items(events)), now_s=now_s, **options))


@given(EVENTS, st.sampled_from([1, 3, 1000]))
def test_rows_match_plain_merge(events: list[EventValue], size: int) -> None:
    table = table_of(events)
    for now_s in NOWS_S:
        found = raw_rows(MERGER.rows(input_batches(items(events), size), now_s=now_s))
        expected = table.rows(now_s)
        assert (list(found), found) == (list(expected), expected)


@given(one_cell_events())
def test_ties_match_plain_merge(events: list[EventValue]) -> None:
    for now_s in NOWS_S:
        assert raw(events, now_s) == table_of(events).rows(now_s)


@given(st.data(), EVENTS)
def test_merge_ignores_order_and_repetitions(data: st.DataObject, events: list[EventValue]) -> None:
    again = data.draw(st.permutations([*events, *events[::2]]))
    for now_s in NOWS_S:
        assert raw(again, now_s) == table_of(events).rows(now_s)


@given(EVENTS)
def test_partitions_with_equal_token_stay_separate(events: list[EventValue]) -> None:
    events = [{"cells": event["cells"] | {"token": 5}} for event in events]
    assert raw(events) == table_of(events).rows(11)


@given(EVENTS)
def test_typed_rows_match_columns_of_select(events: list[EventValue]) -> None:
    for now_s in NOWS_S:
        batches = list(MERGER.typed(input_batches(items(events)), now_s=now_s))
        rows = [row for batch in batches for row in batch.to_pylist()]
        ids = [row.pop("cdc_row_id") for row in rows]
        assert (len(set(ids)), rows) == (len(ids), typed_rows(table_of(events), now_s))
        assert all(batch.schema == MERGER.typed_schema for batch in batches)


@given(EVENTS, TIMES_US, TIMES_US)
def test_views_exclude_truncated_late_and_windowed_writes(
    events: list[EventValue], first_us: int, last_us: int
) -> None:
    """A view may exclude writes before a truncation, after a time, or within a window."""
    assert raw(events, truncated_us=first_us) == table_of(events, first_us).rows(11)
    assert raw(events, until_us=first_us) == table_of(until(events, first_us)).rows(11)
    kept = without(events, first_us, last_us)
    assert raw(events, without_us=(first_us, last_us)) == table_of(kept).rows(11)


@given(EVENTS, TIMES_US, TIMES_US)
def test_first_changes_equal_typed_rows(
    events: list[EventValue], first_us: int, last_us: int
) -> None:
    for options in (
        {},
        {"truncated_us": first_us},
        {"until_us": first_us},
        {"without_us": (first_us, last_us)},
    ):
        view: dict[str, Any] = {"now_s": 11, **options}
        typed = MERGER.typed(input_batches(items(events)), **view)
        changes = MERGER.first_changes(input_batches(items(events, is_new=True)), **view)
        shown = [row for batch in typed for row in batch.to_pylist()]
        found = [row for batch in changes for row in batch.to_pylist() if row["op"] is not None]
        assert [{"cdc_row_id": row["cdc_row_id"], **row["after"]} for row in found] == shown
        assert {row["op"] for row in found} <= {"c"}


@given(EVENTS, st.dictionaries(st.sampled_from("abms"), st.integers(0, 3)))
def test_dropped_columns_hide_earlier_cells(
    events: list[EventValue], dropped: dict[str, int]
) -> None:
    """A column that was added again shows only cells after its drop."""
    text = """CREATE TABLE ks.t (k int, c blob, a blob, b blob, m map<blob, blob>,
        me map<blob, blob>, s blob static, ms map<blob, blob> static, PRIMARY KEY (k, c)
        ) WITH ID = 5a1c395e-b41f-11e5-9f22-ba0be0483c01;"""
    types = {"a": "blob", "b": "blob", "m": "map<blob, blob>", "s": "blob static"}
    for column, ts_us in dropped.items():
        text += f"ALTER TABLE ks.t DROP {column} USING TIMESTAMP {ts_us};"
        text += f"ALTER TABLE ks.t ADD {column} {types[column]};"
    merger = Merger(type(SCHEMA).from_cql(text), "ks", "t")
    table = table_of(events)
    for column, ts_us in dropped.items():
        # `dropped_columns` stores milliseconds.
        table.drop(column, ts_us)
    assert raw_rows(merger.rows(input_batches(items(events)), now_s=11)) == table.rows(11)


def test_unknown_columns_are_not_visible() -> None:
    cells = {"kind": "row", "pk": "AAAAAQ==", "token": 1, "ck": "", "ckv": [""]}
    cell = {"col": "x", "ts": 1, "val": "AA=="}
    batches = list(input_batches(items([{"cells": cells | {"cell": [cell]}}])))
    assert raw_rows(MERGER.rows(batches, now_s=0)) == {}
    live = {"cells": cells | {"cell": [cell], "live": {"ts": 1}}}
    assert raw_rows(MERGER.rows(input_batches(items([live])), now_s=0)) == {(b"\0\0\0\1", b""): {}}


def test_merger_survives_pickling() -> None:
    merger = pickle.loads(pickle.dumps(Merger(SCHEMA, "ks", "t")))
    assert (merger.typed_schema, list(merger.rows([], now_s=1))) == (MERGER.typed_schema, [])


@pytest.mark.parametrize(
    ("value", "cause"),
    [
        ("", "is not an event of the supported format"),
        ("{", "is not an event of the supported format"),
        ("[]", "is not an event of the supported format"),
        ("{}", "has no `cells`. Set `event.cells=true`"),
        ('{"after": null, "cells": null}', "has no `cells`"),
        ("\0\0\0\0\1x", "is Avro, but the merge reads JSON. Set `value.converter=json`"),
        ('{"cells": {"kind": "row", "pk": "AA==", "ck": "?"}}', "`ck` is not base64"),
        ('{"cells": {"kind": "row", "pk": "AA=="}}', "`ck` is missing"),
        ('{"cells": {"kind": "odd", "pk": "AA=="}}', "unknown variant `odd`"),
        ('{"cells": {"kind": "partition", "pk": "AA==", "del": {"ts": 1.5}}}', "expected i64"),
    ],
)
def test_invalid_event_values_are_rejected(value: str, cause: str) -> None:
    batch = pa.record_batch({"token": pa.array([1]), "event": pa.array([value])})
    with pytest.raises(ValueError, match=cause) as error:
        list(MERGER.rows([batch], now_s=0))
    assert str(error.value).startswith(f"The value {value[:100]}")


def test_connect_envelope_is_read() -> None:
    cells = {"kind": "row", "pk": "AAAAAQ==", "ck": "", "ckv": [""], "live": {"ts": 1}}
    for value in (
        {"schema": {"cells": [1]}, "payload": {"after": {"cells": 1}, "cells": cells}},
        {"after": {"a": [None, "\\u0041"]}, "cells": cells, "op": "i"},
    ):
        assert len(raw_rows(MERGER.rows(input_batches([(1, value, False)]), now_s=0))) == 1


@pytest.mark.parametrize(
    ("columns", "cause"),
    [
        ({"event": pa.array(["{}"])}, "token of the batch: expected int64"),
        ({"token": pa.array([1])}, "event of the batch: expected string"),
        ({"token": pa.array([1]), "event": pa.array([1])}, "expected string"),
        ({"token": pa.array([1]), "event": pa.array([None], pa.string())}, "an event or a state"),
    ],
)
def test_invalid_batches_are_rejected(columns: dict[str, Any], cause: str) -> None:
    with pytest.raises(ValueError, match=cause):
        list(MERGER.rows([pa.record_batch(columns)], now_s=0))


def test_large_strings_are_read() -> None:
    value = '{"cells": {"kind": "row", "pk": "AAAAAQ==", "ck": "", "ckv": [""], "live": {"ts": 1}}}'
    batch = pa.record_batch({"token": pa.array([1]), "event": pa.array([value], pa.large_string())})
    assert len(raw_rows(MERGER.rows([batch], now_s=0))) == 1


def test_large_partition_is_read_in_batches() -> None:
    count = 20_000
    events = [
        f'{{"cells": {{"kind": "row", "pk": "AAAAAQ==", "ck": "{number:08d}", "ckv": ["AA=="],'
        ' "live": {"ts": 1}, "cell": [{"col": "a", "ts": 1, "val": "AAAA"}]}}'
        for number in range(count)
    ]
    batch = pa.record_batch(
        {"token": pa.array([1] * count), "event": pa.array(events[::-1], pa.string())}
    )
    batches = list(MERGER.typed([batch.slice(0, 7_000), batch.slice(7_000)], now_s=0))
    assert [len(found) for found in batches] == [4096, 4096, 4096, 4096, 3616]


@pytest.mark.parametrize(
    ("live", "now_s", "shown"),
    [
        ({"ts": 7}, 0, {"ts": 7, "ldt": None, "ttl": None}),
        ({"ts": 7, "ttl": 5, "ldt": 9}, 8, {"ts": 7, "ldt": 9, "ttl": 5}),
        ({"ts": 7, "ttl": 5, "ldt": 9}, 9, None),
        (None, 0, None),
    ],
)
def test_raw_rows_contain_row_marker(
    live: dict[str, int] | None, now_s: int, shown: dict[str, int | None] | None
) -> None:
    cell = {"col": "a", "ts": 1, "val": "AAAAAQ=="}
    cells: dict[str, Any] = {"kind": "row", "pk": "AAAAAQ==", "ck": "", "ckv": [""], "cell": [cell]}
    if live is not None:
        cells["live"] = live
    (batch,) = MERGER.rows(input_batches([(1, {"cells": cells}, False)]), now_s=now_s)
    assert batch.column("live").to_pylist() == [shown]

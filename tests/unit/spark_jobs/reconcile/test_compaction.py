"""Order, batches, repetitions, compaction and purge do not change the visible rows.

`tests/unit/spark_jobs/merge` proves this without Spark for thousands of histories.
"""

import random
from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.reconcile.compaction import compact, level_after, purge
from spark_jobs.reconcile.job import reconcile
from spark_jobs.reconcile.selected_tables import select_tables
from spark_jobs.reconcile.store import Batch, VersionStore
from tests.support.spark.forms import EventValue, expected, frame, shown
from tests.support.spark.random_tables import COUNTERS, T, merged, random_events, random_schema

BATCHES = 2
HISTORY_S = 100
HISTORIES = 60


def test_compaction_and_purge_leave_visible_rows_unchanged(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The store contains shuffled copies of all events. A major compaction, a minor compaction
    after a few late events, and a purge follow."""
    schema = random_schema(tmp_path)
    counters = ["shop.counters"]
    tables = select_tables(schema, ["shop.t", *counters], counters)
    store = VersionStore(spark, str(tmp_path / "store"), buckets=2, max_uncompacted_files=1)

    def compare(values: Sequence[EventValue], now_s: int, *read: str) -> None:
        algebra = expected(merged(values, {COUNTERS}), now_s)
        assert shown(store, schema, now_s, read) == {each: algebra[each] for each in read}

    values = random_events(HISTORIES)
    thrice = values * 3
    random.Random(4).shuffle(thrice)
    for number in range(BATCHES):
        events = frame(spark, tmp_path / str(number), thrice[number::BATCHES])
        reconcile(events, store, tables, Batch("a", number))
        compacted = compact(store, schema, number, HISTORY_S)
    assert compacted
    assert levels(store) == {"base": None, "history": BATCHES - 1}
    compare(values, 9, T, COUNTERS)

    late = [static_value(token, ts_us) for token in (1000, 1001) for ts_us in (1, 2)]
    store.max_uncompacted_files = 0
    reconcile(frame(spark, tmp_path / "late", late), store, tables)
    later_s = BATCHES + HISTORY_S
    compact(store, schema, later_s, HISTORY_S, major_share=100)
    # Superseded states of the first compaction are older than `HISTORY_S` now.
    assert levels(store) == {"base": None, "recent": None, "history": later_s}
    values += late
    compare(values, 11, T)

    before = state_bytes(store)
    purge(store, schema, schema.table("shop.t"), 12)
    assert levels(store) == {"base": None}
    assert state_bytes(store) < before
    compare(values, 13, T)


def static_value(token: int, ts_us: int) -> EventValue:
    """A write of a static value, in a separate partition for each token."""
    place = {"kind": "static", "id": T, "pk": b64encode(token.to_bytes(8)).decode(), "token": token}
    value = b64encode(ts_us.to_bytes(8)).decode()
    return {"cells": place | {"cell": [{"col": "s", "ts": ts_us, "val": value}]}}


def levels(store: VersionStore) -> dict[str, int | None]:
    """The levels of the table, with the earliest second of superseded states."""
    found = store.levels(T).groupBy("level").agg(F.min("superseded_at_s")).collect()
    return dict(map(tuple, found))


def state_bytes(store: VersionStore) -> int:
    (found,) = store.rows(T).agg(F.sum(F.length("state"))).collect()
    return int(found[0])


@pytest.mark.parametrize(
    ("events", "recent", "base", "level"),
    [(5, 0, 0, "base"), (5, 7, 100, "recent"), (5, 8, 100, "base"), (0, 0, 9, "recent")],
)
def test_compaction_rewrites_base_when_an_eighth_is_new(
    events: int, recent: int, base: int, level: str
) -> None:
    rows = {"events": events, "recent": recent, "base": base, "history": 1_000}
    assert level_after(rows) == level

"""Digests of ranges, and differing rows: a page of a live table compared with stored rows."""

import random
import uuid
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from spark_jobs.compare.differences import Explainer, differing_rows, explained, with_later_writes
from spark_jobs.compare.digests import (
    RangeDigest,
    compared_columns,
    range_digests,
    range_of,
    token_ranges,
)
from spark_jobs.compare.row_difference import Cause, ReadTimes
from spark_jobs.merge import Merger
from spark_jobs.rebuild.table_layout import read_layout
from tests.support.node.snapshot_rows import READ_AT_US, TABLE_ID, Cells, long, row
from tests.support.spark.live_table import SCHEMA, a_list, events_of, v

COUNTS = (1, 2, 64)
MIN_TOKEN, MAX_TOKEN = -(1 << 63), (1 << 63) - 1
MERGER = Merger(SCHEMA, "ks", "t", table_id=TABLE_ID)
LAYOUT = read_layout(SCHEMA, TABLE_ID)
COLUMNS = compared_columns(LAYOUT)
RANGES = 2
SECOND = READ_AT_US // 1_000_000


LIVE = [
    row(1, 1, v=v(5, 100), l=a_list(7, 8), st=(b"x", long(9), None)),
    row(1, 2, v=v(6, 90), st=(b"x", long(9), None)),
    row(2, 1),
]


@pytest.mark.parametrize(("at_least", "ranges"), [(1, 1), (2, 2), (3, 4), (64, 64), (1000, 1024)])
def test_token_ranges_cover_ring_once(at_least: int, ranges: int) -> None:
    found = token_ranges(at_least)
    assert [each.number for each in found] == list(range(ranges))
    assert (found[0].after, found[-1].to) == (MIN_TOKEN, MAX_TOKEN)
    assert all(one.to == other.after for one, other in pairwise(found))


def test_each_token_belongs_to_its_range(spark: SparkSession) -> None:
    seed = 7
    tokens = [random.Random(seed + each).randint(MIN_TOKEN + 1, MAX_TOKEN) for each in range(50)]
    ends = [each.to for ranges in COUNTS for each in token_ranges(ranges)]
    frame = spark.createDataFrame([(each,) for each in (*tokens, *ends)], "token bigint")
    columns = [range_of(F.col("token"), ranges).alias(str(ranges)) for ranges in COUNTS]
    for each in frame.select("token", *columns).collect():
        for ranges in COUNTS:
            found = token_ranges(ranges)[each[str(ranges)]]
            assert found.after < each["token"] <= found.to


def live_rows(rows: Sequence[Cells]) -> pa.Table:
    merged = MERGER.rows([events_of(rows)], now_s=SECOND)
    return pa.Table.from_batches(merged, MERGER.rows_schema)


def frame(spark: SparkSession, table: pa.Table) -> DataFrame:
    return spark.createDataFrame(table.to_pylist(), from_arrow_schema(MERGER.rows_schema))


def as_stored(table: pa.Table) -> list[dict[str, Any]]:
    """The rows as stored from a log: with row markers and other list positions.

    The bytes of these positions sort differently from their times.
    """
    paths = [uuid.UUID(fields=(low, 1, 0x1001, 0x80, 0, 0)).bytes for low in (1, 2)]
    paths[1] = uuid.UUID(fields=(0, 2, 0x1001, 0x80, 0, 0)).bytes
    rows: list[dict[str, Any]] = table.to_pylist()
    for each in rows:
        if each["ck"] is not None:
            each["live"] = {"ts": 100, "ldt": None, "ttl": None}
        of_list = [cell for cell in each["cells"] if cell["column"] == "l"]
        for cell, path in zip(of_list, paths, strict=False):
            cell.update(path=path, ts=40)
        each["cells"].sort(key=lambda cell: (cell["column"], cell["path"] or b""))
    return rows


@pytest.fixture(scope="module")
def sides(spark: SparkSession) -> tuple[DataFrame, DataFrame]:
    table = live_rows(LIVE)
    stored = spark.createDataFrame(as_stored(table), from_arrow_schema(MERGER.rows_schema))
    return frame(spark, table), stored


def test_equal_content_has_equal_digests(sides: tuple[DataFrame, DataFrame]) -> None:
    live, store = sides
    found = range_digests(live, RANGES, COLUMNS)
    assert found == {0: RangeDigest(3, found[0].hash, 9)}
    assert range_digests(store, RANGES, COLUMNS)[0].hash == found[0].hash
    assert differing_rows(live, store, RANGES, COLUMNS).count() == 0


def test_differing_rows_are_explained(
    spark: SparkSession, sides: tuple[DataFrame, DataFrame]
) -> None:
    changed = [
        row(1, 1, v=v(5, 100), l=a_list(8, 7), st=(b"y", long(9), None)),
        row(1, 2, v=v(6, 95), st=(b"y", long(9), None)),
        row(2, 2, v=v(1, 80)),
    ]
    live, store = frame(spark, live_rows(changed)), sides[1]
    hashes = {range_digests(side, RANGES, COLUMNS)[0].hash for side in (live, store)}
    assert len(hashes) == 2
    times = dict.fromkeys(range(RANGES), ReadTimes(READ_AT_US, READ_AT_US, READ_AT_US))
    rows = differing_rows(live, store, RANGES, COLUMNS)
    found = explained(rows, Explainer(LAYOUT, COLUMNS, times)).cache()
    assert {(each["key"], each["cause"]) for each in found.collect()} == {
        ('"k" = 1', Cause.DIFFERENT_VALUE),
        ('"k" = 1 AND "c" = 1', Cause.LOSS),
        ('"k" = 1 AND "c" = 2', Cause.LOSS),
        ('"k" = 2 AND "c" = 1', Cause.LOST_DELETE),
        ('"k" = 2 AND "c" = 2', Cause.LOSS),
    }
    of_first_partition = rows.where("token < -4000000000000000000")
    after = with_later_writes(found, of_first_partition)
    assert {each["key"] for each in after.collect() if each["cause"] == Cause.LOSS} == {
        '"k" = 2 AND "c" = 2'
    }

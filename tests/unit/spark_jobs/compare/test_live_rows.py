"""Rows of a live table, with their tokens."""

import pyarrow as pa

from commitlog import Schema
from spark_jobs.compare.live_rows import with_tokens
from spark_jobs.merge import Merger
from tests.support.node.snapshot_rows import READ_AT_US, TABLE_ID, encode, integer, long, row
from tests.support.spark.live_table import SCHEMA, encoder_of, events_of


def test_values_resembling_tokens_do_not_replace_tokens() -> None:
    """The token always belongs to the partition."""
    text = b'{"token": 5, "cells": {"token":7}}'
    rows = [
        row(1, 2, v=(integer(5), long(1000), None), st=(text, long(7), None)),
        row(2, None, st=(text, long(7), None)),
    ]
    found = events_of(rows)
    assert found.schema.names == ["token", "event", "state"]
    merger = Merger(SCHEMA, "ks", "t", table_id=TABLE_ID)
    merged = pa.Table.from_batches(merger.rows([found], now_s=READ_AT_US // 1_000_000)).to_pylist()
    assert [(each["token"], each["statics"][0]["value"]) for each in merged] == [
        (-4069959284402364209, text),
        (-3248873570005575792, text),
    ]


def test_live_counters_are_read() -> None:
    table_id = "5a1c0000-0000-1000-8000-000000000003"
    schema = Schema.from_cql(
        "CREATE TABLE ks.hits (k int, c int, n counter, s counter static, PRIMARY KEY (k, c))"
        f" WITH ID = {table_id} AND cdc = true;"
    )
    encoder = encoder_of(schema, table_id)
    assert encoder.cql(0, 1) == (
        'SELECT "k","c","n","s" FROM "ks"."hits" WHERE token("k") > 0 AND token("k") <= 1'
    )
    page = [
        (integer(1), integer(1), long(5), long(9)),
        (integer(1), integer(2), None, long(9)),
        (integer(2), integer(1), long(-7), None),
    ]
    merger = Merger(schema, "ks", "hits", table_id=table_id)
    merged = merger.rows([with_tokens(encode(page, encoder))], now_s=0)
    rows = pa.Table.from_batches(merged, merger.rows_schema).to_pylist()
    values = [
        [[(each["column"], each["value"]) for each in row[name]] for name in ("cells", "statics")]
        for row in rows
    ]
    # The key 1 has the smaller token.
    assert values == [
        [[("n", long(5))], [("s", long(9))]],
        [[], [("s", long(9))]],
        [[("n", long(-7))], []],
    ]

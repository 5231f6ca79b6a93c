"""The expiry index, and rows without a typed form, which become dead letters."""

import json
import random
import struct
from base64 import b64encode
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.follow import Follower, delta_tables
from spark_jobs.follow.delta_tables import ExpiryIndex
from spark_jobs.reconcile.job import reconcile
from spark_jobs.reconcile.selected_tables import select_tables
from spark_jobs.reconcile.source_table import read_schema
from spark_jobs.reconcile.store import VersionStore
from spark_jobs.session_conf import session_conf
from tests.support.spark.recording_handler import RecordingHandler
from tests.support.spark.records import Record, frame

HOUR_S = 3600


def changes(spark: SparkSession, *rows: tuple[int, bytes | None, int | None]) -> DataFrame:
    return spark.createDataFrame(rows, "token BIGINT, ck BINARY, next_expiry_s BIGINT")


def keys(due: DataFrame) -> list[tuple[int, bytes | None]]:
    found = ((row["token"], row["ck"]) for row in due.collect())
    return sorted((token, None if ck is None else bytes(ck)) for token, ck in found)


def test_expiry_index_stays_small(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An hour has few files, and a past hour has none."""
    monkeypatch.setattr(delta_tables, "_RETENTION", "interval 0 hours")
    index = ExpiryIndex(spark, str(tmp_path))
    with session_conf(spark, {"spark.databricks.delta.autoCompact.minNumFiles": "3"}):
        for token in range(4):
            index.add("t", changes(spark, (token, None, 9 * HOUR_S)))
    index.add("t", changes(spark, (9, None, HOUR_S)))
    assert len(spark.read.format("delta").load(str(tmp_path)).inputFiles()) == 3
    index.forget("t", 9 * HOUR_S)
    assert keys(index.due("t", 0, 9 * HOUR_S)) == [(token, None) for token in range(4)]
    assert len(list(tmp_path.rglob("part-*.parquet"))) == 2
    statements: list[str] = []
    monkeypatch.setattr(spark, "sql", statements.append)
    index.forget("t", 9 * HOUR_S + 1)
    assert statements == []


def test_due_keys_are_found_and_forgotten(spark: SparkSession, tmp_path: Path) -> None:
    index = ExpiryIndex(spark, str(tmp_path))
    assert index.next_due_s("t", 0) is None
    index.add("t", changes(spark, (1, b"a", HOUR_S), (2, None, HOUR_S + 1), (3, b"c", None)))
    index.add("t", changes(spark, (4, b"d", 3 * HOUR_S)))
    index.add("u", changes(spark, (5, b"e", HOUR_S)))
    index = ExpiryIndex(spark, str(tmp_path))
    assert keys(index.due("t", HOUR_S - 1, HOUR_S)) == [(1, b"a")]
    assert keys(index.due("t", HOUR_S, 3 * HOUR_S)) == [(2, None), (4, b"d")]
    assert [index.next_due_s("t", after_s) for after_s in (0, HOUR_S, HOUR_S + 1, 3 * HOUR_S)] == [
        HOUR_S,
        HOUR_S + 1,
        3 * HOUR_S,
        None,
    ]
    index.forget("t", 3 * HOUR_S)
    assert keys(index.due("t", 0, 9 * HOUR_S)) == [(4, b"d")]
    assert keys(index.due("u", 0, 9 * HOUR_S)) == [(5, b"e")]


TABLE_ID = "5a1c395e-b41f-11e5-9f22-ba0be0483c18"
# The longest that Cassandra has.
LONG_NAME = f"{'k' * 48}.{'t' * 222}"
LAST_MS = ((1 << 63) - 1) // 1000


def event(key: int, millis: int, ts: int) -> Record:
    at = b64encode(struct.pack(">q", millis)).decode()
    cells = {
        "kind": "row",
        "id": TABLE_ID,
        "pk": b64encode(struct.pack(">i", key)).decode(),
        "token": key,
        "ck": "",
        "ckv": [],
        "live": {"ts": ts},
        "cell": [{"col": "at", "ts": ts, "val": at}],
    }
    return Record(None, json.dumps({"cells": cells}).encode())


@pytest.mark.parametrize("name", ["shop.t", LONG_NAME], ids=len)
def test_rejected_rows_do_not_block_other_rows(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    ddl = f"CREATE TABLE {name} (k int PRIMARY KEY, at timestamp) WITH ID = {TABLE_ID};"
    (tmp_path / "schema.cql").write_text(ddl)
    schema = read_schema(tmp_path / "schema.cql")
    store = VersionStore(spark, str(tmp_path / "store"), buckets=1)
    table, target = schema.table(name), RecordingHandler(each=False)
    folder = tmp_path / "follower"
    follower = Follower(store, schema, [table], str(folder), target, clock=lambda: 5)
    draw = random.Random(1)
    late: set[int] = set()
    for ts in range(1, 4):
        written = {key: draw.random() < 0.5 for key in draw.sample(range(8), 5)}
        events = [
            event(key, LAST_MS + draw.randrange(1, 1000) if is_late else 7, ts)
            for key, is_late in written.items()
        ]
        reconcile(frame(spark, events), store, select_tables(schema))
        late = (late - written.keys()) | {key for key, is_late in written.items() if is_late}
        follower.step()
        shown = {row["k"] for row in target.rows[table.id].values()}
        assert not shown & late
        assert written.keys() - late <= shown
    dead = spark.read.format("delta").load(str(folder / "dead-letters")).collect()
    assert {f"partition key 0x{key:08x}" for key in late} <= {
        row["rejected"].partition(",")[0] for row in dead
    }
    assert follower.stats[name].rejected == len(dead)

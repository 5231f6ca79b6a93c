"""A row without a typed form goes to the dead letters; every other row of the batch is applied."""

import json
import random
import struct
from base64 import b64encode
from pathlib import Path

from pyspark.sql import SparkSession

from spark_jobs.follow import Follower
from spark_jobs.reconcile.job import reconcile
from spark_jobs.reconcile.selected_tables import select_tables
from spark_jobs.reconcile.source_table import read_schema
from spark_jobs.reconcile.store import VersionStore
from tests.support.spark.recording_handler import RecordingHandler
from tests.support.spark.records import Record, frame

TABLE_ID = "5a1c395e-b41f-11e5-9f22-ba0be0483c18"
DDL = f"CREATE TABLE shop.t (k int PRIMARY KEY, at timestamp) WITH ID = {TABLE_ID};"
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


def test_other_rows_of_the_table_are_applied(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "schema.cql").write_text(DDL)
    schema = read_schema(tmp_path / "schema.cql")
    store = VersionStore(spark, str(tmp_path / "store"), buckets=1)
    table, target = schema.table("shop.t"), RecordingHandler(each=False)
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
    assert follower.stats["shop.t"].rejected == len(dead)

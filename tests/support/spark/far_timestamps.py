"""A table with three rows, of which the second has a legal `timestamp` without a typed form."""

import struct
from base64 import b64encode
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from spark_jobs.reconcile.source_table import read_schema
from tests.support.spark.forms import filled_store

NAME = "shop.t"
FITTING = [1, 3]
REJECTED = "partition key 0x00000002"
_ID = "5a1c395e-b41f-11e5-9f22-ba0be0483c18"
_FAR_MS = ((1 << 63) - 1) // 1000 + 1


def fill(spark: SparkSession, folder: Path, *, buckets: int = 2) -> dict[str, str]:
    """Fill a store in the folder. Returns the options that name it."""
    schema_file = folder / "schema.cql"
    schema_file.write_text(
        f"CREATE TABLE {NAME} (k int PRIMARY KEY, at timestamp) WITH ID = {_ID};"
    )
    events = [_event(key, millis) for key, millis in ((1, 7), (2, _FAR_MS), (3, 8))]
    store = filled_store(spark, folder, read_schema(schema_file), events, buckets=buckets)
    return {"output": store.path, "buckets": str(buckets), "schema.file": str(schema_file)}


def _event(key: int, millis: int) -> dict[str, Any]:
    at = b64encode(struct.pack(">q", millis)).decode()
    pk = b64encode(struct.pack(">i", key)).decode()
    place = {"kind": "row", "id": _ID, "pk": pk, "token": key, "ck": "", "ckv": []}
    cell = {"col": "at", "ts": 1, "val": at}
    return {"cells": {**place, "live": {"ts": 1}, "cell": [cell]}}

"""Debezium's own transformation reads change messages."""

import base64
import json
import subprocess
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.changes.converters import json_bytes
from spark_jobs.changes.envelope import envelopes, key_schema, value_schema
from spark_jobs.changes.kafka_sink import in_order, messages
from tests.support.servers.debezium import VERSION
from tests.support.servers.java import java
from tests.support.servers.java_sources import compiled
from tests.support.servers.maven import Dependency, class_path
from tests.support.spark.changes import NOW_US, ORDERS, POSITION, Change, changes_frame, struct_of

_SOURCE = Path(__file__).resolve().parents[3] / "support" / "java" / "ExtractedChanges.java"
_KAFKA = "4.1.1"
_DEPENDENCIES = (
    Dependency("io.debezium", "debezium-core", VERSION),
    Dependency("org.apache.kafka", "connect-json", _KAFKA),
    Dependency("org.apache.kafka", "connect-transforms", _KAFKA),
    Dependency("org.slf4j", "slf4j-nop", "1.7.36"),
)

Deletes = Literal["drop", "tombstone", "rewrite", "rewrite-with-tombstone", "delete-to-tombstone"]


def extracted(
    messages: Iterable[tuple[bytes, bytes | None]], deletes: Deletes, fields: str
) -> list[Any]:
    """Values after the transformation; None for a tombstone, `dropped` for a dropped message.
    `messages` are keys and values with schemas. `fields` is the option `add.fields`."""
    jars = class_path(f"debezium-core-{VERSION}", _DEPENDENCIES)
    classes = compiled([_SOURCE], jars, release=17)
    lines = (
        f"{base64.b64encode(key).decode()}\t{base64.b64encode(value or b'').decode()}\n"
        for key, value in messages
    )
    done = subprocess.run(
        [str(java(17)), "-cp", f"{classes}:{jars}/*", "ExtractedChanges", deletes, fields],
        input="".join(lines),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    answers = [line for line in done.stdout.splitlines() if line == "dropped" or line[0] in "{n"]
    return [line if line == "dropped" else json.loads(line) for line in answers]


pytestmark = [pytest.mark.servers, pytest.mark.slow]

ROW = (
    "id int, seq int, at timestamp, day date, blob binary, tags array<int>, "
    "by_number map<int, string>, by_name map<string, int>, user_type struct<x: int>"
)
KEY = {"id": 7, "seq": 3}
EMPTY = dict.fromkeys(["at", "day", "blob", "tags", "by_number", "by_name", "user_type"])
FILLED = {
    "blob": b"\0\xff",
    "tags": [1, None],
    "by_number": {5: "five"},
    "by_name": {"a": 1},
    "user_type": (9,),
}
FORM = {
    "blob": "AP8=",
    "tags": [1, None],
    "by_number": [[5, "five"]],
    "by_name": {"a": 1},
    "user_type": {"x": 9},
}


def messages_of(changes: DataFrame, *, is_snapshot: bool) -> list[tuple[bytes, bytes | None]]:
    row = struct_of(changes, "after")
    key_bytes = partial(json_bytes, schema=key_schema(row, ORDERS))
    value_bytes = partial(json_bytes, schema=value_schema(row, ORDERS))
    found = envelopes(changes, ORDERS, POSITION, is_snapshot=is_snapshot, now_us=NOW_US)
    sent = in_order(messages(found, key_bytes, value_bytes, has_tombstones=True)).collect()
    return [(bytes(each.key), each.value and bytes(each.value)) for each in sent]


def test_extract_new_record_state_reads_every_operation(spark: SparkSession) -> None:
    empty, filled = KEY | EMPTY, KEY | EMPTY | FILLED
    life = [Change(None, empty, 0), Change(empty, filled, 1), Change(filled, None, 2)]
    pairs = [
        *messages_of(changes_frame(spark, life[:1], ROW), is_snapshot=True),
        *messages_of(changes_frame(spark, life, ROW), is_snapshot=False),
    ]
    added = {"__op": "c", "__source_table": "orders", "__source_ts_us": NOW_US}
    assert extracted(pairs, "rewrite-with-tombstone", "op,source.table,source.ts_us") == [
        empty | added | {"__op": "r", "__deleted": "false"},
        empty | added | {"__deleted": "false"},
        empty | FORM | added | {"__op": "u", "__deleted": "false"},
        empty | FORM | added | {"__op": "d", "__deleted": "true"},
        None,
    ]

"""An unusable record becomes a dead letter with its reason and does not stop other records."""

import hashlib
import json
import random
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from sidecar.errors import ConfigError
from spark_jobs.errors import InputError, mapped_error
from spark_jobs.mongo_reconcile.changes import OPERATIONS
from spark_jobs.mongo_reconcile.document_table import DocumentTable
from spark_jobs.mongo_reconcile.job import start_merging
from spark_jobs.mongo_reconcile.options import MongoJobOptions
from spark_jobs.options.job import StreamOptions
from spark_jobs.reconcile.job import StreamingReconcile
from spark_jobs.reconcile.options import ReconcileOptions
from spark_jobs.reconcile.selected_tables import select_tables
from spark_jobs.reconcile.source_table import read_schema
from spark_jobs.reconcile.store import VersionStore
from spark_jobs.source.events import KINDS, RAW_COLUMNS, InvalidRecords, events
from tests.support.seeds import draw_seed
from tests.support.spark.mongo_topic import envelope, record
from tests.support.spark.options import options_of
from tests.support.spark.records import Record, RecordStream, headers_of

TABLES = ("first", "second", "counted")
IDS = {name: f"5a1c395e-b41f-11e5-9f22-ba0be0483c1{n}" for n, name in enumerate(TABLES)}
DDL = "".join(
    f"CREATE TABLE shop.{name} (k int PRIMARY KEY, v {'counter' if name == 'counted' else 'text'}) "
    f"WITH ID = {IDS[name]};"
    for name in TABLES
)


KINDS_OF_ORDER = (
    ((True, True), (0, 1)),
    ((False, False), (0,)),
    ((True, False), (0,)),
    ((False,), (0, 1)),
)
"""Whether each change of a batch has a cluster time, and the partitions.

Two kinds have an order. In one an untimed change follows a timed one, and in one the changes may be
in both partitions."""


def event(table_id: str) -> bytes:
    cells = {"kind": "row", "id": table_id, "pk": "AAAAAQ==", "token": 1, "ck": "", "ckv": []}
    return json.dumps({"cells": {**cells, "live": {"ts": 1}}}).encode()


def numbered(records: Iterable[Record]) -> list[Record]:
    """The records with separate event ids and offsets."""
    return [
        Record(each.headers, each.value, each.key, each.topic, 0, offset)
        for offset, each in enumerate(records)
    ]


def headers(number: int, **changes: Any) -> tuple[tuple[str, bytes | None], ...]:
    return headers_of(hashlib.md5(str(number).encode()).digest(), **changes)


GOOD = [Record(headers(n), event(IDS[name])) for n, name in enumerate(TABLES[:2])]
OF_EVENTS = {
    "no header": (Record(None, event(IDS["first"])), "has no header `cdc.id`"),
    "short id": (Record(headers_of(b"1"), event(IDS["first"])), "of 1 bytes instead of 16"),
    "other kind": (Record(headers(9, kind="cell")), f"not one of {', '.join(KINDS)}"),
    "bad time": (
        Record((*headers(9)[:2], ("cdc.ts_us", b"now"), *headers(9)[3:])),
        "not a time in microseconds",
    ),
    "no cells": (Record(headers(9), b'{"op": "i"}'), "cells"),
    "no JSON": (Record(headers(9), b"{"), "not"),
    "Avro": (
        Record(headers(9), b"\0\0\0\0\1abc"),
        " is Avro, but the merge reads JSON. Set `value.converter=json` for the agents.",
    ),
    "unknown table": (Record(headers(9), event(IDS["first"][:-1] + "9")), "does not describe"),
    "counters": (Record(headers(9), event(IDS["counted"])), "counter table shop.counted"),
}


def assert_dead(
    spark: SparkSession, path: Path, broken: Mapping[str, tuple[Record, str]]
) -> list[Any]:
    """Verify that the dead letters are these records, which follow the topic's first record."""
    found = spark.read.format("delta").load(str(path)).orderBy("offset").collect()
    assert [(bytes(dead["value"]), dead["offset"]) for dead in found] == [
        (record.value, offset) for offset, (record, _) in enumerate(broken.values(), 1)
    ]
    for dead, (_, reason) in zip(found, broken.values(), strict=True):
        assert reason in dead["error"]
    return found


def test_reconcile_stores_events_around_invalid_records(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "schema.cql").write_text(DDL)
    schema = read_schema(tmp_path / "schema.cql")
    stream = RecordStream(spark, tmp_path / "topic")
    stream.add(numbered([GOOD[0], *(each for each, _ in OF_EVENTS.values()), GOOD[1]]))
    store = VersionStore(spark, str(tmp_path / "store"), buckets=1)
    invalid = InvalidRecords(str(tmp_path / "dead"), "job")
    job = StreamingReconcile(store, schema, select_tables(schema), "job", invalid=invalid)
    options = StreamOptions(checkpoint=str(tmp_path / "checkpoint"))
    job.run(events(stream.read(), keep_invalid=True), options)
    assert {row["table"] for row in store._all().collect()} == {IDS["first"], IDS["second"]}
    for dead in assert_dead(spark, tmp_path / "dead", OF_EVENTS):
        assert dead["error"].startswith(f"The record shop.orders/0/{dead['offset']} ")
        assert set(dead.asDict()) == {*RAW_COLUMNS, "error"}


def test_reconcile_fails_at_invalid_record_by_default(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "schema.cql").write_text(DDL)
    schema = read_schema(tmp_path / "schema.cql")
    stream = RecordStream(spark, tmp_path / "topic")
    stream.add(numbered([GOOD[0], OF_EVENTS["bad time"][0], GOOD[1]]))
    store = VersionStore(spark, str(tmp_path / "store"), buckets=1)
    job = StreamingReconcile(store, schema, select_tables(schema), "job")
    with pytest.raises(Exception, match=r"record shop\.orders/0/1") as raised:
        job.run(events(stream.read()), StreamOptions(checkpoint=str(tmp_path / "checkpoint")))
    assert isinstance(mapped_error(raised.value), InputError)


DOCUMENT = envelope("c", "{}", 1)
OF_CHANGES = {
    "no id": (record(1, None, DOCUMENT, time=(1, 1)), "has no document `id`"),
    "other operation": (
        record(1, "1", envelope("m", None, 1), time=(1, 1)),
        f"not one of {', '.join(OPERATIONS)}",
    ),
    "no source": (
        record(1, "1", {**DOCUMENT, "source": {"db": "shop"}}, time=(1, 1)),
        "lacks `db` or `collection`",
    ),
    "Avro": (Record(None, b"\0\0\0\0\1abc", b"\0\0\0\0\1abc"), "is Avro"),
    "no JSON": (Record(None, b"{", b'{"id": "1"}'), "op"),
}


def mongo_options(folder: Path) -> MongoJobOptions:
    given = {
        "kafka.bootstrap.servers": "b:1",
        "topics": "t",
        "checkpoint": str(folder / "checkpoint"),
        "table.path": str(folder / "documents"),
    }
    return options_of(MongoJobOptions, given)


@pytest.mark.parametrize("is_kept", [True, False], ids=["dead-letter", "fail"])
def test_mongo_reconcile_merges_changes_around_invalid_records(
    spark: SparkSession, tmp_path: Path, is_kept: bool
) -> None:
    stream = RecordStream(spark, tmp_path / "topic")
    good = [
        record(number, str(number), envelope("c", "{}", 1, db=db), time=(1, number))
        for number, db in enumerate(("shop", "crm"))
    ]
    stream.add(numbered([good[0], *(each for each, _ in OF_CHANGES.values()), good[1]]))
    documents = DocumentTable(spark, str(tmp_path / "documents"))
    options = mongo_options(tmp_path)
    invalid = InvalidRecords(str(tmp_path / "dead") if is_kept else None, "job")
    query = start_merging(stream.read(), documents, options, invalid)
    if not is_kept:
        with pytest.raises(Exception, match="/0/1") as raised:
            query.awaitTermination()
        assert isinstance(mapped_error(raised.value), InputError)
        return
    query.awaitTermination()
    assert documents.counts() == {"shop.cust": {"live": 1}, "crm.cust": {"live": 1}}
    assert_dead(spark, tmp_path / "dead", OF_CHANGES)


def test_mongo_reconcile_rejects_only_changes_without_order(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Documents have changes with and without cluster times, in one or two partitions and two
    batches. Only changes without a known order become dead letters."""
    seed = draw_seed()
    chance = random.Random(seed)
    stream = RecordStream(spark, tmp_path / "topic")
    offsets = [0, 0]
    batches: list[list[Record]] = [[], []]
    kinds = {f"{number}": KINDS_OF_ORDER[number % len(KINDS_OF_ORDER)] for number in range(24)}
    for batch in batches:
        for identity, (times, partitions) in chance.sample(list(kinds.items()), len(kinds)):
            for is_timed in times:
                partition = chance.choice(partitions) if batch is batches[0] else partitions[-1]
                offsets[partition] += 1
                at = (sum(offsets), 1) if is_timed else None
                change = envelope("u", f"{offsets}", 1)
                batch.append(
                    record(offsets[partition], identity, change, time=at, partition=partition)
                )
        stream.add(batch)
    documents = DocumentTable(spark, str(tmp_path / "documents"))
    dead = str(tmp_path / "dead")
    options = mongo_options(tmp_path)
    start_merging(stream.read(), documents, options, InvalidRecords(dead, "job")).awaitTermination()
    dead_ids = {json.loads(row["key"])["id"] for row in spark.read.load(dead, "delta").collect()}
    last = {
        json.loads(each.key or b"")["id"]: json.loads(each.value or b"")["after"]
        for batch in batches
        for each in batch
    }
    shown = {row["id"]: row["document"] for row in documents.current("shop.cust").collect()}
    clean = {identity for identity, kind in kinds.items() if kind in KINDS_OF_ORDER[:2]}
    assert {identity: shown[identity] for identity in clean} == {each: last[each] for each in clean}
    places: dict[str, set[int]] = {identity: set() for identity in kinds}
    for each in (each for batch in batches for each in batch):
        places[json.loads(each.key or b"")["id"]].add(each.partition)
    late = {identity for identity, kind in kinds.items() if kind == KINDS_OF_ORDER[2]}
    moved = {
        identity
        for identity, kind in kinds.items()
        if kind == KINDS_OF_ORDER[3] and len(places[identity]) > 1
    }
    assert dead_ids == late | moved


def test_dead_letter_path_must_not_overlap_other_paths(tmp_path: Path) -> None:
    (tmp_path / "s.cql").write_text(DDL)
    given = {
        "kafka.bootstrap.servers": "b:1",
        "topics": "t",
        "checkpoint": "/c",
        "output": "/o",
        "schema.file": str(tmp_path / "s.cql"),
        "invalid.records": "dead-letter",
    }
    apart = options_of(ReconcileOptions, {**given, "dead.letter.path": "/d"})
    assert apart.dead_letter_path == "/d"
    for path in ("/c/d", "/o"):
        with pytest.raises(ConfigError, match="overlap"):
            options_of(ReconcileOptions, {**given, "dead.letter.path": path})
    with pytest.raises(ConfigError, match="must be set"):
        options_of(ReconcileOptions, given)

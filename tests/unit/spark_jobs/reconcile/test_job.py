"""The streaming job: micro-batches, crashes, rejected events."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import orjson
import pytest
from pyspark.sql import DataFrame, SparkSession

from sidecar.errors import ConfigError
from spark_jobs.error_mapping import mapped_error
from spark_jobs.errors import InputError
from spark_jobs.options.stream import StreamOptions
from spark_jobs.reconcile.job import StreamingReconcile, reconcile
from spark_jobs.reconcile.selected_tables import select_tables
from spark_jobs.reconcile.source_table import SourceSchema, read_schema
from spark_jobs.reconcile.store import Batch, VersionStore
from spark_jobs.source.counter_contexts import INVALID_CONTEXT
from spark_jobs.source.events import events
from tests.oracle.algebra import Tables
from tests.oracle.reference.recordings import OWN
from tests.support.spark.forms import expected, shown
from tests.support.spark.recorded import three_copies
from tests.support.spark.records import Record, RecordStream, frame

RECORDING = "5.0/three-nodes"
SCHEMA = OWN / RECORDING / "node1" / "schema.cql"
BUCKETS = 1
TABLES = 3
BATCHES = 3
LATER_S = 4_000_000_000


class CrashError(Exception):
    """Simulates the end of the process."""


class CrashingStore(VersionStore):
    """A store that crashes once, after it has written a micro-batch."""

    crashes_in = 1

    def append(self, events: DataFrame, batch: Batch | None = None) -> None:
        super().append(events, batch)
        if batch is not None and batch.number == self.crashes_in:
            self.crashes_in = -1
            raise CrashError(f"in micro-batch {batch.number}")


@pytest.fixture(scope="module")
def schema() -> SourceSchema:
    return read_schema(SCHEMA)


@pytest.fixture(scope="module")
def records() -> list[Record]:
    """Events of three tables from three agents, in random order."""
    found = three_copies([RECORDING])
    most = {table for table, _ in Counter(map(table_of, found)).most_common(TABLES)}
    return [record for record in found if table_of(record) in most]


def table_of(record: Record) -> str:
    """The id of the event's table."""
    return str(orjson.loads(record.value or b"")["cells"]["id"])


def merged(records: list[Record]) -> Tables:
    tables = Tables()
    for record in records:
        assert record.value is not None
        tables.apply(orjson.loads(record.value))
    return tables


def make_store(spark: SparkSession, folder: Path) -> VersionStore:
    return VersionStore(spark, str(folder / "table"), buckets=BUCKETS)


def is_empty(store: VersionStore) -> bool:
    return store.version() == 0


def test_a_crash_during_a_run_changes_nothing(
    spark: SparkSession, tmp_path: Path, schema: SourceSchema, records: list[Record]
) -> None:
    """Spark repeats the micro-batch, whose events are already stored."""
    stream = RecordStream(spark, tmp_path / "topic")
    for number in range(BATCHES):
        stream.add(records[number::BATCHES])
    path = str(tmp_path / "table")
    crashing = CrashingStore(spark, path, buckets=BUCKETS, max_uncompacted_files=1)
    options = StreamOptions(
        checkpoint=str(tmp_path / "checkpoint"),
        metrics_json_file=tmp_path / "stats.json",
        metrics_prometheus_file=tmp_path / "stats.prom",
    )
    following = StreamingReconcile(crashing, schema, select_tables(schema), "job")
    with pytest.raises(Exception, match="in micro-batch 1"):
        following.run(events(stream.read()), options)
    failed = 'cdc_spark_run_failed{spark_job="reconcile"}'
    assert f"{failed} 1.0" in (tmp_path / "stats.prom").read_text().splitlines()
    again = StreamingReconcile(crashing, schema, select_tables(schema), "job")
    stats = again.run(events(stream.read()), options)
    # The repeated batch is not even read.
    assert stats.micro_batches == 1
    assert stats.records == len(records[2::BATCHES])
    assert stats.compacted_buckets > 0
    assert json.loads((tmp_path / "stats.json").read_text())["records"] == stats.records
    lines = (tmp_path / "stats.prom").read_text().splitlines()
    assert "cdc_reconcile_micro_batches_total 1.0" in lines
    assert f"{failed} 0.0" in lines
    assert f"cdc_store_rows {crashing.size().rows}.0" in lines
    assert shown(crashing, schema, LATER_S) == expected(merged(records), LATER_S)


def test_a_truncation_deletes_earlier_writes(
    spark: SparkSession, tmp_path: Path, schema: SourceSchema, records: list[Record]
) -> None:
    """The truncation of one table, recorded before or after the events."""
    times_us = sorted(
        cell["ts"]
        for record in records
        for cell in orjson.loads(record.value or b"").get("cells", {}).get("cell", ())
    )
    ts_us = times_us[len(times_us) // 2]
    tables = merged(records)
    table_id = max(tables.by_id, key=lambda each: len(tables.by_id[each].rows(LATER_S)))
    tables.by_id[table_id].truncate(ts_us)
    store = make_store(spark, tmp_path)
    store.truncate(table_id, ts_us)
    reconcile(frame(spark, records), store, select_tables(schema))
    store.truncate(table_id, ts_us - 1)
    assert shown(store, schema, LATER_S) == expected(tables, LATER_S)


def refusal(frame: DataFrame, store: VersionStore, **choices: Any) -> str:
    """The message of the error."""
    tables = select_tables(choices.pop("schema"), **choices)
    with pytest.raises(Exception) as raised:
        reconcile(events(frame), store, tables)
    fault = mapped_error(raised.value)
    assert isinstance(fault, InputError), raised.value
    return str(fault)


def changed(record: Record, **members: Any) -> Record:
    value = orjson.loads(record.value or b"")
    value["cells"] |= members
    return Record(record.headers, orjson.dumps(value), record.key, "shop.a", 3, 17)


def test_an_invalid_record_is_an_error_with_its_place(
    spark: SparkSession, tmp_path: Path, schema: SourceSchema, records: list[Record]
) -> None:
    store = make_store(spark, tmp_path)
    bare = Record(records[0].headers, b'{"op": "i"}', b"{}", "shop.a", 3, 17)
    sentence = refusal(frame(spark, [records[1], bare]), store, schema=schema)
    assert sentence.startswith("The record shop.a/3/17 has no `cells`. ")
    stranger = changed(records[0], id="00000000-0000-0000-0000-000000000000")
    sentence = refusal(frame(spark, [stranger]), store, schema=schema)
    assert sentence == (
        f"The record shop.a/3/17 is of a table that {SCHEMA} does not describe. Describe the "
        "schema again; if the table was dropped, select the others with `tables`."
    )
    unheaded = Record(None, records[0].value, b"{}", "shop.a", 3, 17)
    sentence = refusal(frame(spark, [unheaded]), store, schema=schema)
    assert sentence.startswith("The record shop.a/3/17 has no header `cdc.id`. ")
    assert is_empty(store)


COUNTERS = """
CREATE TABLE shop.hits (p int PRIMARY KEY, n counter)
    WITH ID = 5a1c395e-b41f-11e5-9f22-ba0be0483c18 AND cdc = true;
CREATE TABLE shop.orders (p int PRIMARY KEY, n text)
    WITH ID = 6a1c395e-b41f-11e5-9f22-ba0be0483c18 AND cdc = true;
"""


def test_counters_are_rejected_unless_they_are_whole(
    spark: SparkSession, tmp_path: Path, records: list[Record]
) -> None:
    path = tmp_path / "schema.cql"
    path.write_text(COUNTERS)
    schema = read_schema(path)
    hits = schema.table("shop.hits")
    # One shard of 60 of one leader, as docs/reference/event-format.md shows it.
    context = "AAGAABneb9fYo0kkgAfuPhYuFscABmDL6xJh8AAAAAAAAAA8"
    cell = [{"col": "n", "ts": 5, "val": context}]
    counted = changed(records[0], kind="row", id=hits.id, ck="", ckv=[], cell=cell, cdel=[])
    store = make_store(spark, tmp_path)
    sentence = refusal(frame(spark, [counted]), store, schema=schema)
    assert sentence.startswith(
        "The record shop.a/3/17 is of the counter table shop.hits, whose counts before "
    )
    whole = select_tables(schema, whole_counters=["shop.hits"])
    cut_off = changed(counted, cell=[{"col": "n", "ts": 5, "val": "AAGA"}])
    sentence = refusal(frame(spark, [cut_off]), store, schema=schema, whole_counters=["shop.hits"])
    assert sentence == f"The record shop.a/3/17 {INVALID_CONTEXT}."
    assert is_empty(store)
    reconcile(frame(spark, [counted, counted]), store, whole)
    ((row,),) = [list(rows.values()) for rows in shown(store, schema, LATER_S).values()]
    assert row == {"n": (60).to_bytes(8, "big")}


def test_events_of_unselected_tables_are_skipped(
    spark: SparkSession, tmp_path: Path, schema: SourceSchema, records: list[Record]
) -> None:
    (named,) = (table for table in schema.tables if table.id == table_of(records[0]))
    store = make_store(spark, tmp_path)
    stranger = changed(records[0], id="00000000-0000-0000-0000-000000000000")
    tables = select_tables(schema, [named.full_name])
    reconcile(frame(spark, [*records, stranger]), store, tables)
    assert [set(commit.rows) for commit in store.commits_after(0)] == [{named.id}]
    assert len(set(map(table_of, records))) == TABLES


def test_an_undescribed_table_is_an_error(schema: SourceSchema) -> None:
    with pytest.raises(ConfigError, match=r"describes no table shop\.orders\. It describes "):
        select_tables(schema, ["shop.orders"])

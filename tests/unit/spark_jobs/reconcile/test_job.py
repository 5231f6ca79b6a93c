"""The streaming job: micro-batches, crashes, rejected events."""

import json
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest
from pyspark.sql import DataFrame, SparkSession

from sidecar.errors import ConfigError
from spark_jobs.error_mapping import mapped_error
from spark_jobs.errors import InputError
from spark_jobs.expressions.counter import INVALID_CONTEXT
from spark_jobs.options.stream import StreamOptions
from spark_jobs.reconcile.job import StreamingReconcile, reconcile
from spark_jobs.reconcile.layout.append import AppendLayout
from spark_jobs.reconcile.layout.merge import MergeLayout
from spark_jobs.reconcile.layout.protocol import Batch, Layout
from spark_jobs.reconcile.selected_tables import select_tables
from spark_jobs.reconcile.source_table import SourceSchema, read_schema
from spark_jobs.reconcile.truncation_marker import truncate
from spark_jobs.reconcile.versions import COLUMNS
from spark_jobs.reconcile.visible_rows import visible_rows
from spark_jobs.source.events import events
from tests.oracle.algebra import Tables
from tests.oracle.reference.recordings import OWN
from tests.support.spark.forms import Shown, expected, shown
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


@dataclass
class CrashingLayout:
    """A layout that crashes once, after it has written a micro-batch."""

    layout: Layout
    crashes_in: int

    def write_versions(self, versions: DataFrame, batch: Batch | None = None) -> None:
        self.layout.write_versions(versions, batch)

    def write_events(self, events: DataFrame, batch: Batch | None = None) -> None:
        self.layout.write_events(events, batch)
        if batch is not None and batch.number == self.crashes_in:
            self.crashes_in = -1
            raise CrashError(f"in micro-batch {batch.number}")

    def stored_versions(self, tables: Collection[str] | None = None) -> DataFrame:
        return self.layout.stored_versions(tables)

    def latest_versions(self, tables: Collection[str] | None = None) -> DataFrame:
        return self.layout.latest_versions(tables)

    def compact(self) -> int:
        return self.layout.compact()

    def purge(self, table: str, before_s: int) -> None:
        self.layout.purge(table, before_s)


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


def selected(layout: Layout) -> Shown:
    return shown(visible_rows(layout.stored_versions(), LATER_S))


def make_layout(spark: SparkSession, folder: Path) -> AppendLayout:
    return AppendLayout(spark, str(folder / "table"), buckets=BUCKETS)


@pytest.mark.parametrize("layout_class", [AppendLayout, MergeLayout])
def test_a_crash_during_a_run_changes_nothing(
    spark: SparkSession,
    tmp_path: Path,
    schema: SourceSchema,
    records: list[Record],
    layout_class: type[AppendLayout] | type[MergeLayout],
) -> None:
    """Spark repeats the micro-batch, whose versions are already stored."""
    stream = RecordStream(spark, tmp_path / "topic")
    for number in range(BATCHES):
        stream.add(records[number::BATCHES])
    layout = layout_class(spark, str(tmp_path / "table"), buckets=BUCKETS, max_uncompacted_files=1)
    crashing = CrashingLayout(layout, crashes_in=1)
    options = StreamOptions(
        checkpoint=str(tmp_path / "checkpoint"),
        metrics_json_file=tmp_path / "stats.json",
        metrics_prometheus_file=tmp_path / "stats.prom",
    )
    following = StreamingReconcile(crashing, select_tables(schema), BUCKETS, "job")
    with pytest.raises(Exception, match="in micro-batch 1"):
        following.run(events(stream.read()), options)
    failed = 'cdc_spark_run_failed{spark_job="reconcile"}'
    assert f"{failed} 1.0" in (tmp_path / "stats.prom").read_text().splitlines()
    again = StreamingReconcile(crashing, select_tables(schema), BUCKETS, "job")
    stats = again.run(events(stream.read()), options)
    # The repeated batch is not even read.
    assert stats.micro_batches == 1
    assert stats.records == len(records[2::BATCHES])
    assert stats.compacted_buckets > 0
    assert json.loads((tmp_path / "stats.json").read_text())["records"] == stats.records
    lines = (tmp_path / "stats.prom").read_text().splitlines()
    assert "cdc_reconcile_micro_batches_total 1.0" in lines
    assert f"{failed} 0.0" in lines
    assert selected(layout) == expected(merged(records), LATER_S)


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
    layout = make_layout(spark, tmp_path)
    truncate(spark, layout, table_id, ts_us)
    reconcile(frame(spark, records), layout, select_tables(schema), BUCKETS)
    truncate(spark, layout, table_id, ts_us - 1)
    assert selected(layout) == expected(tables, LATER_S)


def refusal(frame: DataFrame, layout: Layout, **choices: Any) -> str:
    """The message of the error."""
    tables = select_tables(choices.pop("schema"), **choices)
    with pytest.raises(Exception) as raised:
        reconcile(events(frame), layout, tables, BUCKETS)
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
    layout = make_layout(spark, tmp_path)
    bare = Record(records[0].headers, b'{"op": "i"}', b"{}", "shop.a", 3, 17)
    sentence = refusal(frame(spark, [records[1], bare]), layout, schema=schema)
    assert sentence.startswith("The record shop.a/3/17 has no `cells`. ")
    stranger = changed(records[0], id="00000000-0000-0000-0000-000000000000")
    sentence = refusal(frame(spark, [stranger]), layout, schema=schema)
    assert sentence == (
        f"The record shop.a/3/17 is of a table that {SCHEMA} does not describe. Describe the "
        "schema again; if the table was dropped, select the others with `tables`."
    )
    unheaded = Record(None, records[0].value, b"{}", "shop.a", 3, 17)
    sentence = refusal(frame(spark, [unheaded]), layout, schema=schema)
    assert sentence.startswith("The record shop.a/3/17 has no header `cdc.id`. ")
    assert layout.latest_versions().isEmpty()


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
    layout = make_layout(spark, tmp_path)
    sentence = refusal(frame(spark, [counted]), layout, schema=schema)
    assert sentence.startswith(
        "The record shop.a/3/17 is of the counter table shop.hits, whose counts before "
    )
    whole = select_tables(schema, whole_counters=["shop.hits"])
    cut_off = changed(counted, cell=[{"col": "n", "ts": 5, "val": "AAGA"}])
    sentence = refusal(frame(spark, [cut_off]), layout, schema=schema, whole_counters=["shop.hits"])
    assert sentence == f"The value 000180 {INVALID_CONTEXT}."
    assert layout.latest_versions().isEmpty()
    reconcile(frame(spark, [counted, counted]), layout, whole, BUCKETS)
    ((row,),) = [list(rows.values()) for rows in selected(layout).values()]
    assert row == {"n": (60).to_bytes(8, "big")}


def test_events_of_unselected_tables_are_skipped(
    spark: SparkSession, tmp_path: Path, schema: SourceSchema, records: list[Record]
) -> None:
    (named,) = (table for table in schema.tables if table.id == table_of(records[0]))
    layout = make_layout(spark, tmp_path)
    stranger = changed(records[0], id="00000000-0000-0000-0000-000000000000")
    tables = select_tables(schema, [named.full_name])
    reconcile(frame(spark, [*records, stranger]), layout, tables, BUCKETS)
    held = layout.latest_versions().select("table").distinct().collect()
    assert [row["table"] for row in held] == [named.id]
    assert len(set(map(table_of, records))) == TABLES
    assert set(layout.latest_versions().columns) == set(COLUMNS)


def test_an_undescribed_table_is_an_error(schema: SourceSchema) -> None:
    with pytest.raises(ConfigError, match=r"describes no table shop\.orders\. It describes "):
        select_tables(schema, ["shop.orders"])

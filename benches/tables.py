"""Measures micro-batches of typed tables, by table size, batch size and format.

A store and a table of each format contain the states of real events, repeated with different
partition keys. A micro-batch appends events to the store. Then each follower updates the changes,
the expiry index and its table. 85 % of the events write existing rows (a tenth of them with a TTL),
10 % write new rows, and 5 % delete rows, spread evenly over the tokens. Costs are CPU time of
Spark's JVM and its Python workers.

Then a plain copy of a topic to Delta and the whole job alternate. The topic contains three copies
of each event.
"""

import re
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from benches.harness import Result, Spread, print_table, progress_bar, scratch_directory
from benches.segments import Message, SegmentSet, WrittenSegments, written
from benches.spark import Cost, SparkUnderTest, events_of_replicas, fill_topic
from benches.spark.session import deleted_at, plain_copy, repeated, with_other_keys, written_at
from spark_jobs.follow import Follower
from spark_jobs.reconcile.compaction import compact
from spark_jobs.reconcile.job import open_store
from spark_jobs.reconcile.selected_tables import select_tables
from spark_jobs.reconcile.source_table import SourceSchema, SourceTable, read_schema
from spark_jobs.reconcile.store import VersionStore
from spark_jobs.reconcile.visible_rows import merger_of, typed_row
from spark_jobs.source.events import events
from spark_jobs.source.kafka import read
from spark_jobs.tables.job import TypedTables
from spark_jobs.tables.job import run as run_tables
from spark_jobs.tables.options import TablesJobOptions
from tests.support.servers.kafka import KafkaBroker
from tests.support.spark.options import options_of

SIZES = (1_000_000, 10_000_000, 50_000_000)
BATCHES = (10_000, 200_000)
EVENTS, BUCKETS, ROUNDS = 200_000, 16, 3
WARM_UP = 3
"""Unmeasured rounds of the first batch size, in which the JVM compiles."""
CELLS_PER_EVENT = 4
SEGMENTS = SegmentSet("plain, 140 bytes", segment_mib=32, count=2, value_bytes=61)
TABLE = "bench.events"
FORMATS = ("delta", "iceberg")
_TOPIC = "bench.events"
_START_US = 2_000_000_000_000_000
_TEN_DAYS_S = 864_000
_NO_COMPACTION = 1_000_000


@dataclass(frozen=True)
class BatchResult:
    """CPU seconds of a micro-batch of `events` events."""

    cells: int
    format: str
    events: int
    append_s: Spread
    follow_s: Spread
    whole_s: Spread


@dataclass(frozen=True)
class JobResult:
    """The job on a topic. `of_plain` is its rate as a share of the plain copy's, by round."""

    cells: int
    format: str
    rate: Spread
    of_plain: Spread
    peak_rss_mib: int


class Bench:
    """A broker, a session, and the events that fill the stores."""

    def __init__(
        self, spark: SparkUnderTest, broker: KafkaBroker, segments: WrittenSegments, folder: Path
    ) -> None:
        self._spark = spark
        self._broker = broker
        self._folder = folder
        self._schema_file = segments.schema
        self._schema: SourceSchema = read_schema(segments.schema)
        self._table = self._schema.table(TABLE)
        first = self._options("events", "delta", topics=_TOPIC)
        found = select_tables(self._schema).events(events(read(spark.session, first)))
        found.write.parquet(str(folder / "events"))
        self._events = spark.session.read.parquet(str(folder / "events"))
        self._count = self._events.count()
        self._number = 0

    def micro_batches(
        self, cells: int, sizes: tuple[int, ...], rounds: int, formats: tuple[str, ...]
    ) -> list[BatchResult]:
        """Fill a store and its tables, and measure batches of these sizes."""
        store = self._filled(cells)
        followers = {name: self._follower(store, cells, name) for name in formats}
        for follower in followers.values():
            follower.step()
        results = []
        for size, warm_up in zip(sizes, (WARM_UP, *(1 for _ in sizes)), strict=False):
            found = [self._batch(store, followers, size) for _ in range(warm_up + rounds)]
            found = found[warm_up:]
            for name in followers:
                appended = [append.cpu_s for append, _ in found]
                followed = [costs[name].cpu_s for _, costs in found]
                whole = map(sum, zip(appended, followed, strict=True))
                spreads = Spread.of(appended), Spread.of(followed), Spread.of(whole)
                results.append(BatchResult(self._stored(cells), name, size, *spreads))
                print(results[-1], flush=True)
        return results

    def job(self, cells: int, name: str, messages: Sequence[Message], rounds: int) -> JobResult:
        """Run the plain copy and the job on a new topic in each round; discard the first round."""
        costs = [self._round(cells, name, messages) for _ in range(rounds + 1)][1:]
        plain, ours = zip(*costs, strict=True)
        result = JobResult(
            self._stored(cells),
            name,
            Spread.of(len(messages) / cost.cpu_s for cost in ours),
            Spread.of_ratios((cost.cpu_s for cost in plain), (cost.cpu_s for cost in ours)),
            self._spark.peak_rss_mib(),
        )
        print(result, flush=True)
        return result

    def _round(self, cells: int, name: str, messages: Sequence[Message]) -> tuple[Cost, Cost]:
        self._number += 1
        topic = f"{name}-{cells}-{self._number}"
        fill_topic(self._broker, topic, [_later(each, self._number) for each in messages])
        copied = self._options(f"store-{cells}", name, topics=topic)
        folder = str(self._folder / f"plain-{self._number}")
        session = self._spark.session
        plain = self._spark.cost_of(partial(plain_copy, session, copied, folder))
        shutil.rmtree(folder)
        options = self._options(f"store-{cells}", name, **{"topics.pattern": f"{name}-{cells}-.*"})
        ours = self._spark.cost_of(partial(run_tables, session, options, stop=Event()))
        return plain, ours

    def _stored(self, cells: int) -> int:
        """The number of cells after whole repetitions of the events, at least `cells`."""
        of_events = self._count * CELLS_PER_EVENT
        return -(-cells // of_events) * of_events

    def _filled(self, cells: int) -> VersionStore:
        store = open_store(self._spark.session, self._options(f"store-{cells}", "delta"))
        store.append(repeated(self._events, self._stored(cells) // self._stored(1)))
        store.max_uncompacted_files = 0
        compact(store, self._schema, int(time.time()))
        return store

    def _follower(self, store: VersionStore, cells: int, name: str) -> Follower:
        options = self._options(f"store-{cells}", name)
        handler = TypedTables(store.session, options, store.id, self._typed_columns)
        return Follower(store, self._schema, [self._table], options.folder, handler)

    def _typed_columns(self, table: SourceTable) -> StructType:
        return typed_row(merger_of(self._schema, table))

    def _batch(
        self, store: VersionStore, followers: Mapping[str, Follower], size: int
    ) -> tuple[Cost, dict[str, Cost]]:
        self._number += 1
        path = str(self._folder / f"batch-{self._number}")
        self._changed(size).write.parquet(path)
        batch = self._spark.session.read.parquet(path)
        append = self._spark.cost_of(partial(store.append, batch))
        costs = {name: self._spark.cost_of(each.step) for name, each in followers.items()}
        return append, costs

    def _changed(self, size: int) -> DataFrame:
        """Generate events that update, delete and insert rows."""
        number = F.lit(self._number)
        share = F.pmod(F.xxhash64("token", number), F.lit(1000 * self._count)) / (
            1000 * self._count
        )
        chosen = self._events.withColumn("share", share * self._count / size).where("share < 1")
        ts_us = F.lit(_START_US + self._number)
        ends_s = F.when(F.col("share") < 0.085, F.lit(int(time.time()) + _TEN_DAYS_S))
        later = written_at(chosen, ts_us, ends_s)
        is_deleted, is_new = F.col("share") >= 0.95, F.col("share").between(0.85, 0.95)
        changed = later.withColumn(
            "event", F.when(is_deleted, deleted_at(ts_us)).otherwise(F.col("event"))
        )
        generation = F.when(is_new, F.lit(1_000_000 + self._number)).otherwise(F.lit(0))
        return with_other_keys(changed, generation).drop("share")

    def _options(self, store: str, table_format: str, **source: str) -> TablesJobOptions:
        folder = self._folder / store
        catalog = f"lake.{store.replace('-', '_')}"
        settings = {
            "kafka.bootstrap.servers": self._broker.bootstrap,
            **source,
            "checkpoint": str(folder / f"checkpoint-{table_format}"),
            "output": str(folder / "table"),
            "format": table_format,
            "target": str(folder / "typed") if table_format == "delta" else catalog,
            "buckets": str(BUCKETS),
            "compact.after.files": str(_NO_COMPACTION),
            "schema.file": str(self._schema_file),
        }
        return options_of(TablesJobOptions, settings)


def _later(message: Message, number: int) -> Message:
    """Return the message with a later write time and a different value in `cells`."""
    topic, key, value, headers, partition_hash = message
    envelope, cells = value.split(b'"cells":')
    cells = re.sub(rb'"ts":[0-9]+', b'"ts":%d' % (_START_US + number), cells)
    amount = b'"val":"%c' % b"BCDEFGHI"[number % 8]
    cells = re.sub(rb'"val":"[A-I]', amount, cells)
    return topic, key, envelope + b'"cells":' + cells, headers, partition_hash


def run(is_quick: bool) -> Result:
    sizes, batches = ((100_000,), (1_000,)) if is_quick else (SIZES, BATCHES)
    count, rounds = (5_000, 1) if is_quick else (EVENTS, ROUNDS)
    batch_results: list[BatchResult] = []
    job_results: list[JobResult] = []
    with scratch_directory("tables") as scratch, KafkaBroker(scratch / "kafka") as broker:
        segments = written(SEGMENTS)
        messages = events_of_replicas(segments, count)
        fill_topic(broker, _TOPIC, messages)
        lake = {
            "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
            "spark.sql.catalog.lake.type": "hadoop",
            "spark.sql.catalog.lake.warehouse": str(scratch / "lake"),
        }
        with (
            SparkUnderTest.started(settings=lake) as spark,
            progress_bar("tables", len(sizes)) as step,
        ):
            bench = Bench(spark, broker, segments, scratch)
            for cells in sizes:
                batch_results += bench.micro_batches(cells, batches, rounds, FORMATS)
                # The topic would overwrite most of a smaller table.
                if cells > len(messages) * CELLS_PER_EVENT or is_quick:
                    job_results += [bench.job(cells, name, messages, rounds) for name in FORMATS]
                step()
    _print(batch_results, job_results)
    return {"batches": batch_results, "jobs": job_results, "records": len(messages)}


def _print(batches: list[BatchResult], jobs: list[JobResult]) -> None:
    print_table(
        "CPU seconds of a micro-batch",
        batches,
        {
            "format": lambda each: each.format,
            "cells": lambda each: f"{each.cells / 1e6:.1f} M",
            "events": lambda each: f"{each.events:,}",
            "store": lambda each: each.append_s.text(1),
            "changes and table": lambda each: each.follow_s.text(1),
            "whole": lambda each: each.whole_s.text(1),
        },
    )
    print_table(
        "the job over a topic with three copies of each event",
        jobs,
        {
            "format": lambda each: each.format,
            "cells": lambda each: f"{each.cells / 1e6:.1f} M",
            "thousand records/CPU s": lambda each: each.rate.text(1, 1e3),
            "of plain": lambda each: each.of_plain.text(2),
            "peak MiB": lambda each: f"{each.peak_rss_mib:,}",
        },
    )

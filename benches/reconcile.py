"""Measures Kafka → version store by table size, compared with a plain copy of the topic.

The store contains the states of real events, repeated with different partition keys. First, the
changes of small batches of later writes are measured. Then a plain copy and the job alternate over
a topic with three copies of each event. Compaction and the view follow. Costs are CPU time of
Spark's JVM and its Python workers.
"""

import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benches.harness import Result, Spread, print_table, progress_bar, scratch_directory
from benches.segments import SegmentSet, WrittenSegments, written
from benches.spark import Cost, SparkUnderTest, events_of_replicas, fill_topic
from spark_jobs.follow import Position, changes_between
from spark_jobs.reconcile.compaction import compact
from spark_jobs.reconcile.job import open_store
from spark_jobs.reconcile.job import run as run_reconcile
from spark_jobs.reconcile.options import ReconcileOptions
from spark_jobs.reconcile.selected_tables import select_tables
from spark_jobs.reconcile.source_table import SourceSchema, read_schema
from spark_jobs.reconcile.store import VersionStore
from spark_jobs.reconcile.visible_rows import table_at
from spark_jobs.source.events import events
from spark_jobs.source.kafka import read, read_stream
from tests.support.servers.kafka import KafkaBroker
from tests.support.spark.options import options_of

SIZES = (1_000_000, 10_000_000, 50_000_000)
EVENTS, BUCKETS, ROUNDS, WARM_UP = 200_000, 16, 3, 3
CELLS_PER_EVENT = 4
TOUCHED_ROWS = 10_000
"""The number of rows in each measured batch of changes."""
SEGMENTS = SegmentSet("plain, 140 bytes", segment_mib=32, count=2, value_bytes=61)
TOPIC, TABLE = "bench.events", "bench.events"
_NO_COMPACTION = 1_000_000


@dataclass(frozen=True)
class SizeResult:
    """`cells` counts the store's cells before the topic is read. Rates are records per CPU second;
    `of_plain` is the job's rate as a share of the plain copy's in the same round."""

    cells: int
    rate: Spread
    of_plain: Spread
    wall_rate: Spread
    changes_cpu_s: Spread
    changes_wall_s: Spread
    view_cpu_s_per_million: float
    compaction_cpu_s_per_bucket: float
    compaction_cpu_s_per_million: float
    peak_rss_mib: int


class Bench:
    """A broker with the topic, a session, and the events that fill the stores."""

    def __init__(
        self, spark: SparkUnderTest, broker: KafkaBroker, segments: WrittenSegments, folder: Path
    ) -> None:
        self._spark = spark
        self._broker = broker
        self._folder = folder
        self._schema_file = segments.schema
        self._schema: SourceSchema = read_schema(segments.schema)
        self._table = self._schema.table(TABLE)
        found = select_tables(self._schema).events(events(read(spark.session, self._options("r"))))
        found.write.parquet(str(folder / "events"))
        self._events = spark.session.read.parquet(str(folder / "events"))
        self._count = self._events.count()

    def warm_up(self) -> None:
        """Run rounds on a separate store, because the JVM compiles in its first minute, and
        a stream runs for months."""
        options = self._options("warm-up")
        for number in range(WARM_UP):
            self._round(f"warm-up-{number}", options)

    def measure(self, cells: int, records: int, rounds: int) -> SizeResult:
        """Measure one size; `records` is the number of records in the topic."""
        name = f"store-{cells}"
        options = self._options(name)
        store = open_store(self._spark.session, options)
        times = -(-cells // (self._count * CELLS_PER_EVENT))
        store.append(self._filling(times))
        self._compact(store)
        filled = times * self._count * CELLS_PER_EVENT
        changes = [self._changes(store, number) for number in range(rounds + 1)][1:]
        plain, ours = zip(
            *(self._round(f"{name}-{i}", options) for i in range(rounds)), strict=True
        )
        compaction = self._spark.cost_of(partial(self._compact, store))
        view = self._spark.cost_of(partial(self._view, store))
        per_million = filled / 1e6
        return SizeResult(
            filled,
            Spread.of(records / cost.cpu_s for cost in ours),
            Spread.of_ratios((cost.cpu_s for cost in plain), (cost.cpu_s for cost in ours)),
            Spread.of(records / cost.wall_s for cost in ours),
            Spread.of(cost.cpu_s for cost in changes),
            Spread.of(cost.wall_s for cost in changes),
            view.cpu_s / per_million,
            compaction.cpu_s / BUCKETS,
            compaction.cpu_s / per_million,
            self._spark.peak_rss_mib(),
        )

    def _filling(self, times: int) -> DataFrame:
        """Repeat the events `times` times. One repetition keeps its keys, so it contains the rows
        that the topic writes."""
        number = F.col("number")
        copies = self._events.crossJoin(self._spark.session.range(times).toDF("number"))
        is_first = number == 0
        token = F.when(is_first, F.col("token")).otherwise(F.xxhash64("token", number))
        pk = F.base64(F.unhex(F.lpad(F.hex(token), 16, "0")))
        named = F.regexp_replace("event", '"pk":"[^"]*"', F.concat(F.lit('"pk":"'), pk, F.lit('"')))
        return copies.select(
            "table",
            token.alias("token"),
            "ck",
            F.when(is_first, F.col("event")).otherwise(named).alias("event"),
        )

    def _changes(self, store: VersionStore, number: int) -> Cost:
        """Append a small batch, and measure reading its net changes."""
        before = store.version()
        seed = F.xxhash64("token", F.lit(number))
        batch = self._events.where(F.pmod(seed, F.lit(max(1, self._count // TOUCHED_ROWS))) == 0)
        # Moves write times 31 years ahead. The first base64 letter raises each batch's values.
        later = F.regexp_replace("event", '"ts":1', '"ts":2')
        value = f'"val":"{"BCDEFGH"[number]}'
        store.append(batch.withColumn("event", F.regexp_replace(later, '"val":"A', value)))
        now_s = int(time.time())
        positions = Position(before, now_s), Position(before + 1, now_s)

        def changes() -> None:
            found = changes_between(store, self._schema, self._table, *positions, each=False)
            count = found.where("op IS NOT NULL").count()
            if not count:
                raise AssertionError("the batch changed nothing")

        return self._spark.cost_of(changes)

    def _compact(self, store: VersionStore) -> None:
        """Rewrite every bucket completely."""
        store.max_uncompacted_files = 0
        compacted = compact(store, self._schema, int(time.time()), major_share=0)
        if compacted != BUCKETS:
            raise AssertionError(f"{compacted} of {BUCKETS} buckets were compacted")

    def _round(self, name: str, options: ReconcileOptions) -> tuple[Cost, Cost]:
        """Run the plain copy and the job over the whole topic."""
        plain = self._spark.cost_of(partial(self._plain, self._options(f"{name}-plain")))
        fresh = options.model_copy(update={"checkpoint": str(self._folder / name / "checkpoint")})
        ours = self._spark.cost_of(partial(run_reconcile, self._spark.session, fresh))
        return plain, ours

    def _plain(self, options: ReconcileOptions) -> None:
        records = read_stream(self._spark.session, options)
        copied = records.select("key", "value", "topic", "partition", "offset")
        query = (
            copied.writeStream.format("delta")
            .option("checkpointLocation", options.checkpoint)
            .trigger(availableNow=True)
            .start(options.output)
        )
        query.awaitTermination()

    def _view(self, store: VersionStore) -> None:
        shown = table_at(store, self._schema, self._table, int(time.time()))
        shown.write.format("noop").mode("overwrite").save()

    def _options(self, name: str) -> ReconcileOptions:
        settings = {
            "kafka.bootstrap.servers": self._broker.bootstrap,
            "topics": TOPIC,
            "checkpoint": str(self._folder / name / "checkpoint"),
            "output": str(self._folder / name / "table"),
            "buckets": str(BUCKETS),
            "compact.after.files": str(_NO_COMPACTION),
            "schema.file": str(self._schema_file),
        }
        return options_of(ReconcileOptions, settings)


def run(is_quick: bool) -> Result:
    sizes = (100_000,) if is_quick else SIZES
    count, rounds = (5_000, 1) if is_quick else (EVENTS, ROUNDS)
    results: list[SizeResult] = []
    with scratch_directory("reconcile") as scratch, KafkaBroker(scratch / "kafka") as broker:
        segments = written(SEGMENTS)
        messages = events_of_replicas(segments, count)
        fill_topic(broker, TOPIC, messages)
        records = len(messages)
        del messages
        with SparkUnderTest.started() as spark, progress_bar("reconcile", len(sizes)) as step:
            bench = Bench(spark, broker, segments, scratch)
            bench.warm_up()
            for cells in sizes:
                results.append(bench.measure(cells, records, rounds))
                step()
    _print(results)
    return {"records": records, "touched_rows": TOUCHED_ROWS, "sizes": results}


def _print(results: list[SizeResult]) -> None:
    print_table(
        "records in three copies, events of four cells; CPU seconds",
        results,
        {
            "cells": lambda each: f"{each.cells / 1e6:.1f} M",
            "thousand records/CPU s": lambda each: each.rate.text(1, 1e3),
            "of plain": lambda each: each.of_plain.text(2),
            "thousand/s": lambda each: each.wall_rate.text(1, 1e3),
            "changes, s": lambda each: each.changes_cpu_s.text(1),
            "changes, elapsed s": lambda each: each.changes_wall_s.text(1),
            "view, s/M cells": lambda each: f"{each.view_cpu_s_per_million:.1f}",
            "compaction, s/bucket": lambda each: f"{each.compaction_cpu_s_per_bucket:.1f}",
            "s/M cells": lambda each: f"{each.compaction_cpu_s_per_million:.1f}",
            "peak MiB": lambda each: f"{each.peak_rss_mib:,}",
        },
    )

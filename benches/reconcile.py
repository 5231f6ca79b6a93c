"""Kafka → versions of cells, compared with a plain copy of the topic, by layout and table size.

A table is filled with the versions of real events, repeated with other partition keys and earlier
write times. So every event of the topic, in three copies, updates a row. Then a plain copy and the
job alternate over the topic. Compaction, if the layout has one, and the view follow. Costs are CPU
time of Spark's JVM and its Python workers.
"""

import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benches.paths import scratch_directory
from benches.progress import progress_bar
from benches.segments import SegmentSet, WrittenSegments, written
from benches.spark import Cost, SparkUnderTest, events_of_replicas, fill_topic
from benches.stats import Result, Spread, print_table
from spark_jobs.reconcile.job import open_layout
from spark_jobs.reconcile.job import run as run_reconcile
from spark_jobs.reconcile.options import ReconcileOptions
from spark_jobs.reconcile.selected_tables import select_tables
from spark_jobs.reconcile.source_table import SourceSchema, read_schema
from spark_jobs.reconcile.typed_view import table_at
from spark_jobs.reconcile.versions import COLUMNS, bucket_of, explode_events
from spark_jobs.source.events import events
from spark_jobs.source.kafka import read, read_stream
from tests.support.servers.kafka import KafkaBroker
from tests.support.spark.options import options_of

SIZES = (1_000_000, 5_000_000, 12_000_000)
LAYOUTS = ("append", "merge")
EVENTS, BUCKETS, ROUNDS, WARM_UP = 200_000, 16, 3, 3
SEGMENTS = SegmentSet("plain, 140 bytes", segment_mib=32, count=2, value_bytes=61)
TOPIC, TABLE = "bench.events", "bench.events"
_EARLIER_US = 3_600_000_000
_NO_COMPACTION = 1_000_000


@dataclass(frozen=True)
class SizeResult:
    """`cells` are the versions in the table before the topic is read. Rates are records per CPU
    second; `of_plain` is the job's as a share of the plain copy's of the same round."""

    layout: str
    cells: int
    rate: Spread
    of_plain: Spread
    wall_rate: Spread
    view_cpu_s_per_million: float
    compaction_cpu_s_per_bucket: float | None
    compaction_cpu_s_per_million: float | None
    peak_rss_mib: int


class Bench:
    """A broker with the topic, a session, and the versions that fill the tables."""

    def __init__(
        self, spark: SparkUnderTest, broker: KafkaBroker, segments: WrittenSegments, folder: Path
    ) -> None:
        self._spark = spark
        self._broker = broker
        self._folder = folder
        self._schema_file = segments.schema
        self._schema: SourceSchema = read_schema(segments.schema)
        options = self._options("read", "append")
        found = select_tables(self._schema).events(events(read(spark.session, options)), BUCKETS)
        explode_events(found).write.parquet(str(folder / "cells"))
        self._cells = spark.session.read.parquet(str(folder / "cells"))
        self._cell_count = self._cells.count()

    def warm_up(self, layout_name: str) -> None:
        """Rounds over a table of their own: a stream runs for months, the compiler of the JVM works
        in its first minute."""
        options = self._options(f"{layout_name}-warm-up", layout_name)
        for number in range(WARM_UP):
            self._round(f"{layout_name}-warm-up-{number}", options)

    def measure(self, layout_name: str, cells: int, records: int, rounds: int) -> SizeResult:
        """Measure one layout at one size; `records` are the records of the topic."""
        name = f"{layout_name}-{cells}"
        options = self._options(name, layout_name)
        layout = open_layout(self._spark.session, options)
        times = -(-cells // self._cell_count)
        layout.write_versions(self._filling(times))
        filled = times * self._cell_count
        plain, ours = zip(
            *(self._round(f"{name}-{i}", options) for i in range(rounds)), strict=True
        )
        compaction = self._compaction(options) if layout_name == "append" else None
        view = self._spark.cost_of(partial(self._view, options))
        per_million = filled / 1e6
        return SizeResult(
            layout_name,
            filled,
            Spread.of(records / cost.cpu_s for cost in ours),
            Spread.of_ratios((cost.cpu_s for cost in plain), (cost.cpu_s for cost in ours)),
            Spread.of(records / cost.wall_s for cost in ours),
            view.cpu_s / per_million,
            None if compaction is None else compaction.cpu_s / BUCKETS,
            None if compaction is None else compaction.cpu_s / per_million,
            self._spark.peak_rss_mib(),
        )

    def _filling(self, times: int) -> DataFrame:
        """The versions so many times, an hour before; in one of the times they are of the rows
        that the topic writes."""
        number = F.col("number")
        copies = self._cells.crossJoin(self._spark.session.range(times).toDF("number"))
        token = F.when(number == 0, F.col("token")).otherwise(F.xxhash64("pk", number))
        copied = copies.withColumns(
            {
                "token": token,
                "bucket": bucket_of(token, BUCKETS),
                "pk": F.when(number == 0, F.col("pk")).otherwise(
                    F.unhex(F.lpad(F.hex(F.xxhash64("pk", number)), 16, "0"))
                ),
                "win": F.col("win").withField("ts", F.col("win.ts") - _EARLIER_US),
            }
        )
        return copied.select(*COLUMNS).repartition("table", "bucket")

    def _compaction(self, options: ReconcileOptions) -> Cost:
        """Compact every bucket."""
        always = options.model_copy(update={"compact_after_files": 0})
        layout = open_layout(self._spark.session, always)

        def compact() -> None:
            done = layout.compact()
            if done != BUCKETS:
                raise AssertionError(f"{done} of {BUCKETS} buckets were compacted")

        return self._spark.cost_of(compact)

    def _round(self, name: str, options: ReconcileOptions) -> tuple[Cost, Cost]:
        """Run the plain copy and the job over the whole topic."""
        plain = self._spark.cost_of(partial(self._plain, self._options(f"{name}-plain", "append")))
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

    def _view(self, options: ReconcileOptions) -> None:
        layout = open_layout(self._spark.session, options)
        table = self._schema.table(TABLE)
        shown = table_at(layout, self._schema, table, int(time.time()))
        # Not the sink that throws rows away: what Delta reads for it lacks its deletion vectors.
        shown.agg(F.bit_xor(F.xxhash64(*shown.columns))).collect()

    def _options(self, name: str, layout: str) -> ReconcileOptions:
        settings = {
            "kafka.bootstrap.servers": self._broker.bootstrap,
            "topics": TOPIC,
            "checkpoint": str(self._folder / name / "checkpoint"),
            "output": str(self._folder / name / "table"),
            "layout": layout,
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
        with (
            SparkUnderTest.started() as spark,
            progress_bar("reconcile", len(sizes) * len(LAYOUTS)) as step,
        ):
            bench = Bench(spark, broker, segments, scratch)
            for layout in LAYOUTS:
                bench.warm_up(layout)
                for cells in sizes:
                    results.append(bench.measure(layout, cells, records, rounds))
                    step()
    _print(results)
    return {"records": records, "sizes": results}


def _print(results: list[SizeResult]) -> None:
    def text(value: float | None) -> str:
        return "–" if value is None else f"{value:.1f}"

    print_table(
        "records in three copies, events of four cells; CPU seconds",
        results,
        {
            "layout, cells": lambda each: f"{each.layout}, {each.cells / 1e6:.1f} M",
            "thousand records/CPU s": lambda each: each.rate.text(1, 1e3),
            "of plain": lambda each: each.of_plain.text(2),
            "thousand/s": lambda each: each.wall_rate.text(1, 1e3),
            "view, s/M cells": lambda each: text(each.view_cpu_s_per_million),
            "compaction, s/bucket": lambda each: text(each.compaction_cpu_s_per_bucket),
            "s/M cells": lambda each: text(each.compaction_cpu_s_per_million),
            "peak MiB": lambda each: f"{each.peak_rss_mib:,}",
        },
    )

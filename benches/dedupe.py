"""Kafka → Delta: compares a plain copy, Spark's bare deduplication and `spark_jobs.dedupe`.

Each run uses a new table and checkpoint, and reads one topic with three copies of each event.
Rounds are interleaved; the first is discarded. Rates use CPU time of Spark's JVM, because other
programs affect the elapsed time. Rates by elapsed time are reported too.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benches.harness import Result, Spread, print_table, run_rounds, scratch_directory
from benches.segments import SegmentSet, written
from benches.spark import Cost, SparkUnderTest, events_of_replicas, fill_topic
from spark_jobs.dedupe.job import run as run_dedupe
from spark_jobs.dedupe.options import DedupeJobOptions
from spark_jobs.source.kafka import read_stream
from tests.support.servers.kafka import KafkaBroker
from tests.support.spark.options import options_of

EVENTS, BATCHES = 100_000, 3
SEGMENTS = SegmentSet("plain, 140 bytes", segment_mib=32, count=2, value_bytes=61)
TOPIC = "bench.events"
_COPIED = ("key", "value", "topic", "partition", "offset")


@dataclass(frozen=True)
class WayResult:
    """Records per CPU second and per second. `of_plain` is the CPU rate as a share of the plain
    copy's rate in the same round, and `of_bare` of the bare deduplication's rate."""

    name: str
    cpu_rate: Spread
    wall_rate: Spread
    of_plain: Spread
    of_bare: Spread
    of_bare_wall: Spread


@dataclass(frozen=True)
class _Run:
    """The session and options of one run."""

    spark: SparkUnderTest
    options: DedupeJobOptions


def run(is_quick: bool) -> Result:
    events, rounds = (10_000, 1) if is_quick else (EVENTS, 3)
    with scratch_directory("dedupe") as scratch, KafkaBroker(scratch / "kafka") as broker:
        messages = events_of_replicas(written(SEGMENTS), events)
        fill_topic(broker, TOPIC, messages)
        records = len(messages)
        del messages
        with SparkUnderTest.started() as spark:

            def cost(name: str, number: int) -> Cost:
                options = _options(broker, scratch / f"{name}-{number}", records)
                found = spark.cost_of(partial(_WAYS[name], _Run(spark, options)))
                _check(spark, options, records if name == "plain copy" else events)
                return found

            costs = run_rounds("dedupe", tuple(_WAYS), cost, rounds=rounds, warm_up=1)
    results = [_result(name, costs, records) for name in _WAYS]
    print_table(
        f"{records:,} records, {events:,} events",
        results,
        {
            "": lambda each: each.name,
            "thousand records/CPU s": lambda each: each.cpu_rate.text(1, 1e3),
            "of plain": lambda each: each.of_plain.text(2),
            "of bare": lambda each: each.of_bare.text(2),
            "thousand/s": lambda each: each.wall_rate.text(1, 1e3),
            "of bare, elapsed": lambda each: each.of_bare_wall.text(2),
        },
    )
    return {"records": records, "ways": results}


def _plain(run: _Run) -> None:
    _to_delta(read_stream(run.spark.session, run.options).select(*_COPIED), run)


def _bare(run: _Run) -> None:
    records = read_stream(run.spark.session, run.options)
    found = F.expr("element_at(filter(headers, each -> each.key = 'cdc.id'), 1).value")
    events = records.select(found.alias("id"), *_COPIED, F.current_timestamp().alias("seen_at"))
    first = events.withWatermark("seen_at", "3 hours").dropDuplicatesWithinWatermark(["id"])
    _to_delta(first.drop("seen_at"), run)


def _ours(run: _Run) -> None:
    run_dedupe(run.spark.session, run.options)


_WAYS: dict[str, Callable[[_Run], None]] = {"plain copy": _plain, "bare": _bare, "ours": _ours}


def _to_delta(frame: DataFrame, run: _Run) -> None:
    assert run.options.delta_path is not None
    query = (
        frame.writeStream.format("delta")
        .option("checkpointLocation", run.options.checkpoint)
        .trigger(availableNow=True)
        .start(run.options.delta_path)
    )
    query.awaitTermination()


def _options(broker: KafkaBroker, folder: Path, records: int) -> DedupeJobOptions:
    settings = {
        "kafka.bootstrap.servers": broker.bootstrap,
        "topics": TOPIC,
        "checkpoint": str(folder / "checkpoint"),
        "sink.delta.path": str(folder / "table"),
        "max.offsets.per.trigger": str(-(-records // BATCHES)),
    }
    return options_of(DedupeJobOptions, settings)


def _check(spark: SparkUnderTest, options: DedupeJobOptions, expected: int) -> None:
    """Check that the candidate wrote the expected number of events."""
    assert options.delta_path is not None
    found = spark.session.read.format("delta").load(options.delta_path).count()
    if found != expected:
        raise AssertionError(f"{options.delta_path} has {found} rows, not {expected}")


def _result(name: str, costs: dict[str, list[Cost]], records: int) -> WayResult:
    cpu_s = {way: [cost.cpu_s for cost in found] for way, found in costs.items()}
    wall_s = {way: [cost.wall_s for cost in found] for way, found in costs.items()}
    return WayResult(
        name,
        Spread.of(records / each for each in cpu_s[name]),
        Spread.of(records / each for each in wall_s[name]),
        Spread.of_ratios(cpu_s["plain copy"], cpu_s[name]),
        Spread.of_ratios(cpu_s["bare"], cpu_s[name]),
        Spread.of_ratios(wall_s["bare"], wall_s[name]),
    )

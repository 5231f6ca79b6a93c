"""Reads the watermark topic, evaluates the watermarks of all tables, and reports them."""

import math
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from delta.tables import DeltaTable
from prometheus_client import CollectorRegistry, Gauge
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs import metrics_files
from spark_jobs.options.command_line import JobReport
from spark_jobs.progress import Show, start_job
from spark_jobs.reconcile.store import Offsets
from spark_jobs.reconcile.store.commits import largest_offsets, offsets_from_json
from spark_jobs.session_conf import job_description
from spark_jobs.source.kafka import read, read_end_offsets
from spark_jobs.storage import Folder
from spark_jobs.tables.format.typed_table import TypedTable
from spark_jobs.tables.options import TargetOptions
from spark_jobs.tables.target import open_table, read_progress
from spark_jobs.watermarks.options import WatermarkOptions
from spark_jobs.watermarks.report import NodeReport, latest_reports, report_from_json
from spark_jobs.watermarks.state import (
    Watermarks,
    WatermarkState,
    load_state,
    offsets_of_commit,
    store_state,
)
from spark_jobs.watermarks.table_watermark import (
    TableWatermark,
    WatermarkRules,
    moment,
    table_watermark,
)

JOB = "watermarks"
_COMMITS = 500
"""How many of the store's latest commits are searched for offsets."""


def main(options: WatermarkOptions) -> JobReport:
    """Run in a new session, and return the report of the last evaluation."""
    with start_job(JOB, options) as job:
        interval_s = options.trigger_interval_ms / 1000
        return repeat(
            lambda: run(job.session, options),
            interval_s if options.trigger == "processing-time" else None,
            job.stop,
            job.show,
        )


def repeat(
    evaluate: Callable[[], JobReport], interval_s: float | None, stop: threading.Event, show: Show
) -> JobReport:
    """Call `evaluate` once, and again after each interval until `stop` is set. Returns the last
    report."""
    report = evaluate()
    while interval_s is not None and not stop.is_set():
        show(report.message.replace("\n", " "))
        if not stop.wait(interval_s):
            report = evaluate()
    return report


def run(session: SparkSession, options: WatermarkOptions) -> JobReport:
    """Evaluate the watermarks once. Raises `InputError`, `CheckpointError`, or an exception of
    Spark."""
    folder = Folder(session, options.state)
    state = WatermarkState()
    notes: list[str] = []

    def values() -> dict[str, Any]:
        return {
            "tables": values_of(state.in_topics),
            "consumed": values_of(state.consumed),
            "notes": notes,
        }

    def report(has_failed: bool) -> None:
        registry = registry_of(state)
        metrics_files.write(options, values(), registry, job=JOB, has_failed=has_failed)

    with metrics_files.final_report(report):
        state = load_state(folder, options.state) or state
        with job_description(session, "watermarks: read the reports of all agents"):
            reports = read_reports(read(session, options))
        with job_description(session, "watermarks: read the offsets of the tables"):
            state = _advance(session, options, state, reports)
        notes = list(hint_notes(reports))
        store_state(folder, state)
    return JobReport(_message(state.in_topics, notes), values())


def _advance(
    session: SparkSession,
    options: WatermarkOptions,
    state: WatermarkState,
    reports: Sequence[NodeReport],
) -> WatermarkState:
    tables = evaluate(
        reports,
        options.rules(),
        time.time_ns() // 1_000_000,
        state.in_topics,
        tables=options.tables,
        baseline_ms=options.baseline_ms,
    )
    # Read after the reports, so that every event that they cover is before these offsets.
    ends = read_end_offsets(session, options.kafka, event_topics(reports, tables))
    published = state.published(tables, ends)
    return published.reached(read_consumed_offsets(session, options, tables))


def read_reports(records: DataFrame) -> tuple[NodeReport, ...]:
    """The latest report of each node in records of the watermark topic.

    The offset orders the reports of a node. Its clock orders only reports in different partitions,
    which occur if the number of partitions was increased.
    """
    last = (
        records.where(F.col("value").isNotNull())
        .groupBy("key", "topic", "partition")
        .agg(F.max_by(F.col("value").cast("string"), "offset").alias("value"))
    )
    return latest_reports(report_from_json(row["value"]) for row in last.collect())


def event_topics(reports: Iterable[NodeReport], tables: Iterable[str]) -> list[str]:
    """The names of the topics to which agents publish tables."""
    prefixes = sorted({report.topic_prefix for report in reports})
    return [
        re.sub(r"[^A-Za-z0-9._-]", "_", f"{prefix}.{table}")
        for prefix in prefixes
        for table in tables
    ]


def read_consumed_offsets(
    session: SparkSession, options: WatermarkOptions, tables: Iterable[str]
) -> dict[str, Offsets]:
    """The offsets that `store` or the typed tables have reached, by table."""
    if options.store is not None:
        return dict.fromkeys(tables, read_store_offsets(session, options.store))
    place = TargetOptions.existing(options.format, options.target)
    if place is None:
        return {}
    typed = {name: open_table(session, place, name) for name in tables}
    return {name: read_typed_offsets(table) for name, table in typed.items() if table.exists()}


def read_typed_offsets(table: TypedTable) -> Offsets:
    """The offsets of the latest complete batch of a typed table."""
    batch = read_progress(table).complete
    return {} if batch is None else offsets_from_json(batch.offsets)


def read_store_offsets(session: SparkSession, path: str) -> Offsets:
    """The offsets that a Delta table has reached, from its latest commits."""
    commits = DeltaTable.forPath(session, path).history(_COMMITS).select("userMetadata").collect()
    return largest_offsets(offsets_of_commit(row["userMetadata"]) for row in commits)


def evaluate(
    reports: Sequence[NodeReport],
    rules: WatermarkRules,
    now_ms: int,
    before: Watermarks,
    *,
    tables: Iterable[str] = (),
    baseline_ms: int | None = None,
) -> dict[str, TableWatermark]:
    """The watermarks of `tables`, or of all tables in reports and `before`. Raises InputError."""
    names = set(tables) or {*before, *(table for report in reports for table in report.tables)}
    return {
        table: table_watermark(
            table, reports, rules, now_ms, before.get(table), baseline_ms=baseline_ms
        )
        for table in sorted(names)
    }


def hint_notes(reports: Iterable[NodeReport]) -> tuple[str, ...]:
    """Notes about hints. They do not delay a watermark, but a replica is missing their writes."""
    notes = []
    for report in reports:
        if report.hints is None:
            notes.append(f"Node {report.node_id} does not report its hints.")
        notes += [
            f"Node {report.node_id} stores hints for {each.host_id} from {moment(each.oldest_ms)}."
            for each in report.hints or ()
        ]
    return tuple(notes)


def complete_until(watermark: TableWatermark | None) -> Column:
    """A column with the watermark of a table as a timestamp; null if it has none."""
    until_ms = None if watermark is None else watermark.until_ms
    return F.timestamp_millis(F.lit(until_ms).cast("bigint"))


def registry_of(state: WatermarkState) -> CollectorRegistry:
    registry = CollectorRegistry()
    in_topics = Gauge(
        "cdc_table_watermark_timestamp_seconds",
        "Unix time in seconds up to which the topics contain every acknowledged write, by table; "
        "NaN if unknown.",
        ("table",),
        registry=registry,
    )
    consumed = Gauge(
        "cdc_table_watermark_consumed_timestamp_seconds",
        "Unix time in seconds up to which the table of `store` or `target` contains every "
        "acknowledged write, by table; NaN if unknown.",
        ("table",),
        registry=registry,
    )
    for gauge, watermarks in ((in_topics, state.in_topics), (consumed, state.consumed)):
        for table in state.in_topics:
            watermark = watermarks.get(table)
            until_ms = None if watermark is None else watermark.until_ms
            gauge.labels(table).set(math.nan if until_ms is None else until_ms / 1000)
    return registry


def values_of(watermarks: Watermarks) -> dict[str, Mapping[str, Any]]:
    """The watermarks for the report of a command, by table."""
    return {
        table: {
            "since": moment(each.since_ms),
            "until": None if each.until_ms is None else moment(each.until_ms),
            "missing": list(each.missing),
        }
        for table, each in watermarks.items()
    }


def _message(watermarks: Watermarks, notes: Iterable[str]) -> str:
    lines = []
    for table, each in values_of(watermarks).items():
        lines.append(f"{table}: complete until {each['until'] or '(not known yet)'}")
        lines += [f"  {cause}" for cause in each["missing"]]
    return "\n".join([*lines, *notes]) or "No agent has published a watermark."

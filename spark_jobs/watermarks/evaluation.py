"""Evaluates the watermarks of all tables, and shows them as metrics and a column."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from prometheus_client import CollectorRegistry, Gauge
from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_jobs.watermarks.report import NodeReport
from spark_jobs.watermarks.state import Watermarks, WatermarkState
from spark_jobs.watermarks.table_watermark import (
    TableWatermark,
    WatermarkRules,
    moment,
    table_watermark,
)


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

"""Watermarks of all tables as metrics and a column."""

from pyspark.sql import SparkSession

from spark_jobs.watermarks.job import (
    complete_until,
    evaluate,
    hint_notes,
    registry_of,
    values_of,
)
from spark_jobs.watermarks.report import Hints
from spark_jobs.watermarks.state import WatermarkState
from spark_jobs.watermarks.table_watermark import WatermarkRules
from tests.support.spark.watermark_reports import TABLE, report

RULES = WatermarkRules("ONE", 0, 0)
KNOWN = report("a", 2000, replicas=1)


def test_all_reported_tables_are_evaluated_unless_selected() -> None:
    assert list(evaluate([KNOWN], RULES, 0, {})) == [TABLE]
    other = evaluate([KNOWN], RULES, 0, {}, tables=["ks.other"])
    assert other["ks.other"].until_ms is None
    known = evaluate([KNOWN], RULES, 0, {})
    assert list(evaluate([], RULES, 0, known)) == [TABLE]
    # An unselected table, such as a dropped one, is forgotten.
    named = evaluate([], RULES, 0, {**known, "ks.dropped": known[TABLE]}, tables=[TABLE])
    assert list(evaluate([], RULES, 0, named)) == [TABLE]


def test_existing_or_unknown_hints_are_reported() -> None:
    reports = [report("a", 1, hints=None), report("b", 1, hints=(Hints("host-c", 1000),))]
    assert hint_notes([*reports, report("c", 1)]) == (
        "Node a does not report its hints.",
        "Node b stores hints for host-c from 1970-01-01T00:00:01.000+00:00.",
    )


def test_watermarks_are_seconds_in_metrics_and_text_in_report() -> None:
    tables = evaluate([KNOWN], RULES, 0, {})
    registry = registry_of(WatermarkState(in_topics=tables))
    labels = {"table": TABLE}
    assert registry.get_sample_value("cdc_table_watermark_timestamp_seconds", labels) == 2.0
    consumed = registry.get_sample_value("cdc_table_watermark_consumed_timestamp_seconds", labels)
    assert consumed is not None
    assert consumed != consumed
    assert values_of(tables) == {
        TABLE: {
            "since": "1970-01-01T00:00:00.000+00:00",
            "until": "1970-01-01T00:00:02.000+00:00",
            "missing": [],
        }
    }


def test_watermark_becomes_typed_table_column(spark: SparkSession) -> None:
    tables = evaluate([KNOWN], RULES, 0, {})
    frame = spark.range(1).select(
        complete_until(tables[TABLE]).alias("known"), complete_until(None).alias("unknown")
    )
    (times,) = frame.selectExpr("unix_millis(known) AS known", "unknown").collect()
    assert (times["known"], times["unknown"]) == (2000, None)

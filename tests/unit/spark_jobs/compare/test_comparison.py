"""A comparison that is interrupted between its reads and resumed, with the reported causes."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from spark_jobs.compare import comparison
from spark_jobs.compare.digests import TokenRange
from spark_jobs.compare.job import run
from spark_jobs.compare.live_rows import LiveReader
from spark_jobs.compare.options import CompareOptions
from spark_jobs.compare.report import ComparisonReport
from spark_jobs.merge import Merger
from spark_jobs.reconcile.source_table import read_schema
from spark_jobs.reconcile.store import VersionStore
from tests.support.node.snapshot_rows import DDL, READ_AT_US, TABLE_ID, row
from tests.support.spark.live_table import SCHEMA, events_of, stored, v
from tests.support.spark.options import options_of

MERGER = Merger(SCHEMA, "ks", "t", table_id=TABLE_ID)
SECOND_US = 1_000_000
LATER_US = READ_AT_US + 3600 * SECOND_US
SAME = [row(k, 1, v=v(k, 100)) for k in (0, 4, 5, 6)]
LIVE = [*SAME, row(3, 1, v=v(3, 100)), row(1, 1, v=v(1, 100))]
STORE = [*SAME, row(1, 1, v=v(9, LATER_US)), row(2, 1, v=v(2, 100))]
"""The store lacks a row and a deletion, and contains a later write, in two ranges."""
RANGES = 2


def read_live(
    session: SparkSession, reader: LiveReader, ranges: Sequence[TokenRange], _: int
) -> DataFrame:
    """Rows of the live table, in place of those from a node."""
    merged = MERGER.rows([events_of(LIVE)], now_s=reader.now_s)
    rows = [
        each
        for batch in merged
        for each in batch.to_pylist()
        if any(of.after < each["token"] <= of.to for of in ranges)
    ]
    return session.createDataFrame(rows, from_arrow_schema(MERGER.rows_schema))


def test_comparison_resumes_and_reports_each_cause(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "schema.cql").write_text(DDL)
    schema = read_schema(tmp_path / "schema.cql")
    store = VersionStore(spark, str(tmp_path / "store"), buckets=1)
    store.append(stored(spark, STORE))
    reads: list[tuple[bool, list[int]]] = []

    def counted(
        session: SparkSession, reader: LiveReader, ranges: Sequence[TokenRange], tasks: int
    ) -> DataFrame:
        reads.append((reader.now_s > 0, [each.number for each in ranges]))
        return read_live(session, reader, ranges, tasks)

    monkeypatch.setattr(comparison, "read_live", counted)
    settings = {
        "cassandra.hosts": "127.0.0.1",
        "output": store.path,
        "buckets": "1",
        "schema.file": str(schema.path),
        "table": "ks.t",
        "state": str(tmp_path / "state"),
        "ranges": str(RANGES),
        "group.ranges": "1",
        "complete.until": str(2 * LATER_US // 1000),
    }
    options = options_of(CompareOptions, settings)

    def compare(*killed_at: object) -> ComparisonReport:
        def on_read(what: str, done: int, _: int) -> None:
            if (what, done) == killed_at:
                raise KeyboardInterrupt

        return run(spark, options, schema, now_us=lambda: READ_AT_US, on_read=on_read)

    for what in ("token ranges", "rows of ranges"):
        with pytest.raises(KeyboardInterrupt):
            compare(what, 1)
    report = compare()
    # Each range is read once, and its rows once.
    assert reads == [(True, [0]), (True, [1]), (False, [0]), (False, [1])]
    assert (report.verdict, report.exit_code, report.live_rows) == ("differs", 7, len(LIVE))
    assert {(str(each.cause), each.key) for each in report.found.rows} == {
        ("loss", '"k" = 3 AND "c" = 1'),
        ("written_after", '"k" = 1 AND "c" = 1'),
        ("lost_delete", '"k" = 2 AND "c" = 1'),
    }

"""A table rebuilt from archived segments, in each format."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.column_names import Format
from spark_jobs.errors import JobError
from spark_jobs.options.command_line import JobReport
from spark_jobs.rebuild.job import run, write_rows
from spark_jobs.rebuild.options import RebuildOptions
from spark_jobs.reconcile.source_table import read_schema
from tests.support.segments.archive import archive, recording
from tests.support.spark import far_timestamps
from tests.support.spark.options import options_of

RECORDING = recording("5.0/types")
NAME = "types.key_08"
AT = {"at": "2030-01-01T00:00:00Z"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    archive({"node1": RECORDING}, tmp_path / "segments")
    (tmp_path / "segments" / "node1" / "archive" / "CommitLog-7-9.log").write_bytes(b"no header")
    return tmp_path


def rebuild(spark: SparkSession, folder: Path, **settings: str) -> JobReport:
    given = {
        "segments": str(folder / "segments"),
        "schema.file": str(RECORDING.folder / "schema.cql"),
        "table": NAME,
        "target": str(folder / "rebuilt"),
        **AT,
    }
    options = options_of(RebuildOptions, given | settings)
    return run(spark, options, read_schema(options.schema_file))


def test_rebuild_writes_rows_and_statements(spark: SparkSession, folder: Path) -> None:
    report = rebuild(spark, folder)
    rows = spark.read.parquet(str(folder / "rebuilt"))
    assert report.values["rows"] == rows.count() > 0
    assert "cdc_row_id" not in rows.columns
    assert report.values["segments"] == len(RECORDING.segments()) + 1
    assert "1 ranges of segments could not be read" in report.message
    assert "CommitLog-7-9.log: positions 0 to the end" in report.message

    report = rebuild(spark, folder, format="cql")
    statements = [
        line
        for file in (folder / "rebuilt").glob("part-*")
        for line in file.read_text().splitlines()
    ]
    assert len(statements) == report.values["statements"]
    assert all(line.startswith(("INSERT INTO", "UPDATE")) for line in statements)


def test_rebuild_writes_iceberg_table(spark: SparkSession, folder: Path) -> None:
    report = rebuild(spark, folder, target="lake.rebuilt.key_08", format="iceberg")
    assert report.values["rows"] == spark.table("lake.rebuilt.key_08").count() > 0


def test_segments_that_start_too_late_are_an_error(spark: SparkSession, folder: Path) -> None:
    archived = folder / "segments" / "node1" / "archive"
    (archived / "CommitLog-7-9.log").unlink()
    for log in list(archived.glob("CommitLog-*.log")):
        log.rename(archived / "CommitLog-7-1900000000000.log")
    with pytest.raises(JobError, match="the oldest segment is from 2030"):
        rebuild(spark, folder)


@pytest.mark.parametrize(
    "window", [AT, {"without.from": "2029-01-01T00:00:00Z", "without.to": "2029-01-02T00:00:00Z"}]
)
def test_rebuild_reports_row_with_far_timestamp(
    spark: SparkSession, tmp_path: Path, window: dict[str, str]
) -> None:
    """CQL allows times beyond 64-bit microseconds; the target receives the other rows."""
    store = far_timestamps.fill(spark, tmp_path)
    given = {"table": far_timestamps.NAME, "target": str(tmp_path / "rebuilt")}
    settings = {**store, **given, **window, "accept.incomplete": "true"}
    options = options_of(RebuildOptions, settings)
    report = run(spark, options, read_schema(options.schema_file))
    rows = spark.read.parquet(str(tmp_path / "rebuilt")).collect()
    assert sorted(row["k"] for row in rows) == far_timestamps.FITTING
    assert far_timestamps.REJECTED in report.message
    assert far_timestamps.REJECTED in str(report.values["rejected"])


@pytest.mark.parametrize("form", ["parquet", "delta"])
def test_rebuilt_rows_replace_target(spark: SparkSession, tmp_path: Path, form: Format) -> None:
    """Also in a table that was created for names without spaces."""
    target = str(tmp_path / "rebuilt")
    spark.range(1).write.format(form).save(target)
    for rows in (1, 2):
        write_rows(spark.range(rows).selectExpr("id AS `a (b)`"), form, target)
        found = spark.read.format(form).load(target).collect()
        assert sorted(row["a (b)"] for row in found) == list(range(rows))

"""Compares one table and writes the report."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from spark_jobs.compare.comparison import Comparison
from spark_jobs.compare.options import CompareOptions
from spark_jobs.compare.report import ComparisonReport, report_page
from spark_jobs.errors import CheckpointError, is_removed_version
from spark_jobs.metrics_files import replace_file
from spark_jobs.options.command_line import JobReport
from spark_jobs.progress import OnRead, progress_bar
from spark_jobs.reconcile.source_table import SourceSchema, read_schema
from spark_jobs.session import create_job_session


def main(options: CompareOptions) -> JobReport:
    schema = read_schema(options.schema_file)
    with create_job_session("cdc-compare", options) as session, progress_bar() as on_read:
        report = run(session, options, schema, on_read=on_read)
    for path, text in (
        (options.report_html_file, report_page(report)),
        (options.report_json_file, json.dumps(report.values(), indent=2) + "\n"),
    ):
        if path is not None:
            replace_file(path, text)
    return JobReport(report.message(), report.values(), report.exit_code)


def run(
    session: SparkSession,
    options: CompareOptions,
    schema: SourceSchema,
    *,
    now_us: Callable[[], int] = lambda: time.time_ns() // 1000,
    on_read: OnRead = lambda *_: None,
) -> ComparisonReport:
    """Compare one table. Raises `ConfigError`, `CheckpointError`, or an exception of Spark."""
    table = schema.table(options.table)
    with explain_removed_version(options.state):
        return Comparison(session, options, schema, table, now_us, on_read).run()


@contextmanager
def explain_removed_version(state: str) -> Iterator[None]:
    """Raise `CheckpointError` for a removed version, because the next run would fail again.

    `state` is the folder of the comparison.
    """
    try:
        yield
    except Exception as error:
        if not is_removed_version(error):
            raise
        raise CheckpointError(
            "The store or the typed table no longer has a version that the comparison reads, "
            f"because VACUUM removed its files. Remove {state} and start again. Set "
            "`delta.deletedFileRetentionDuration` to more than the duration of a comparison."
        ) from error

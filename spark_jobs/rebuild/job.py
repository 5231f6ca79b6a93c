"""Merges the writes in a window, and writes the resulting rows or statements."""

import logging
from functools import partial

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from sidecar.logs import fields
from spark_jobs.column_names import Format, require_names
from spark_jobs.delta_table import replace_delta_table
from spark_jobs.errors import JobError
from spark_jobs.merge import Merger
from spark_jobs.options.command_line import JobReport
from spark_jobs.rebuild.cql_files import load_statements, undo_statements
from spark_jobs.rebuild.options import RebuildOptions
from spark_jobs.rebuild.sources import Sources, open_sources
from spark_jobs.rebuild.statements import StatementWriter
from spark_jobs.rebuild.table_layout import table_layout
from spark_jobs.rebuild.window import Window
from spark_jobs.reconcile.source_table import SourceSchema, SourceTable, read_schema
from spark_jobs.reconcile.visible_rows import (
    first_changes,
    left_out_text,
    merged,
    merger_of,
    typed_row,
    write_typed,
)
from spark_jobs.session import create_job_session, require_iceberg
from spark_jobs.session_conf import job_description

logger = logging.getLogger(__name__)
_MOST_RANGES = 10
"""Maximum number of unread ranges in the message. The JSON report contains all of them."""
_VACUUMED = ("DELTA_FILE_NOT_FOUND", "FileNotFoundException", "FAILED_READ_FILE.FILE_NOT_EXIST")


def write_rows(rows: DataFrame, form: Format, target: str) -> None:
    """Replace the target with rows. Readers of Delta and Iceberg see the old content until the
    new content is complete."""
    match form:
        case "iceberg":
            rows.writeTo(target).using("iceberg").createOrReplace()
        case "delta":
            replace_delta_table(rows, target)
        case "parquet":
            rows.write.mode("overwrite").parquet(target)


def main(options: RebuildOptions) -> JobReport:
    schema = read_schema(options.schema_file)
    with create_job_session("cdc-rebuild", options) as session:
        return run(session, options, schema)


def run(session: SparkSession, options: RebuildOptions, schema: SourceSchema) -> JobReport:
    """Rebuild one table. Raises `ConfigError`, `JobError`, or an exception of Spark."""
    table = schema.table(options.table)
    window = options.window()
    merger, writer = merger_of(schema, table), None
    if options.format == "cql":
        writer = StatementWriter(table_layout(schema.schema, table.id), window.second)
    else:
        remedy = "Use a different `format`, such as `cql`."
        require_names(table.full_name, typed_row(merger), options.format, remedy)
    if options.format == "iceberg":
        require_iceberg(session)
    sources = open_sources(session, options, schema, table, window)
    _log_start(sources, table)
    rejected: list[str] = []
    try:
        with job_description(session, f"rebuild: {table.full_name}, write {options.format}"):
            if options.format != "cql":
                form, target = options.format, options.target
                changes = first_changes(
                    sources.rows, merger, window.merge_options(sources.truncations_us)
                )
                rows, rejected = write_typed(changes, lambda each: write_rows(each, form, target))
            elif writer is not None:
                statements = _statements(sources, merger, window, writer, options)
                counted, count = Observation(), F.count(F.lit(1)).alias("rows")
                # Text files with one statement per line.
                statements.observe(counted, count).write.mode("overwrite").text(options.target)
                rows = counted.get["rows"]
    except PySparkException as error:
        if options.output is not None and any(text in str(error) for text in _VACUUMED):
            raise JobError(
                f"{options.output}: VACUUM has removed files of the version that the rebuild "
                f"reads ({sources.store_read}). Keep them for longer "
                "(`delta.deletedFileRetentionDuration`), or set `segments` to archived segments "
                "since the table was created."
            ) from error
        raise
    return _report(options, table, window, sources, rows, rejected)


def _statements(
    sources: Sources,
    merger: Merger,
    window: Window,
    writer: StatementWriter,
    options: RebuildOptions,
) -> DataFrame:
    def raw(of: Window) -> DataFrame:
        merge = partial(merger.rows, **of.merge_options(sources.truncations_us))
        return merged(sources.rows, merge, merger.rows_schema)

    if options.cql_mode == "load":
        return load_statements(raw(window), writer)
    return undo_statements(raw(Window(window.now_us)), raw(window), writer, window.undo_us)


def _log_start(sources: Sources, table: SourceTable) -> None:
    values: dict[str, object] = {"table": table.full_name}
    if sources.store_read is not None:
        values["store"] = sources.store_read
    if sources.segments is not None:
        values["segments"] = sources.segments.count
        values["segment_bytes"] = sources.segments.size_bytes
    logger.info("rebuild started", extra=fields(**values))


def _report(
    options: RebuildOptions,
    table: SourceTable,
    window: Window,
    sources: Sources,
    rows: int,
    rejected: list[str],
) -> JobReport:
    unread = sources.unread()
    what = "statements" if options.format == "cql" else "rows"
    wrote = f"Wrote {rows} {what} of {table.full_name} to {options.target}"
    lines = [wrote + left_out_text(rejected)]
    if unread:
        lines.append(
            f"{len(unread)} ranges of segments could not be read. Their writes are missing unless "
            "the store or another replica's segments contain them:"
        )
        lines += map(str, unread[:_MOST_RANGES])
    return JobReport(
        "\n".join(lines),
        {
            "table": table.full_name,
            what: rows,
            "second": window.second,
            "rejected": rejected,
            "target": options.target,
            "segments": None if sources.segments is None else sources.segments.count,
            "unread": list(map(str, unread)),
        },
    )

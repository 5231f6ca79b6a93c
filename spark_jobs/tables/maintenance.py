"""Maintenance of typed tables, one after the other."""

from collections.abc import Callable, Mapping
from functools import partial

from pyspark.sql import SparkSession

from spark_jobs.job_description import job_description
from spark_jobs.options.command_line import JobReport
from spark_jobs.tables.conflicts import repeated
from spark_jobs.tables.format.protocol import TypedTable
from spark_jobs.tables.options import TypedTableOptions
from spark_jobs.tables.target import existing_table


def maintain(
    session: SparkSession,
    options: TypedTableOptions,
    done: str,
    act: Callable[[TypedTable], Mapping[str, int]],
) -> JobReport:
    """Call `act` for each table, again after a conflict with the job. Raises `ConflictError`.

    Its counts are the report; `done` begins each line.
    """
    tables = {name: existing_table(session, options, name) for name in options.tables}
    counts: dict[str, dict[str, int]] = {}
    for name, table in tables.items():
        with job_description(session, f"tables: {name}, {done.lower()}"):
            counts[name] = dict(repeated(table, partial(act, table)))
    lines = [
        f"{done} {name}: "
        + ", ".join(f"{count} {what.replace('_', ' ')}" for what, count in found.items())
        for name, found in counts.items()
    ]
    return JobReport("\n".join(lines), {"tables": counts})

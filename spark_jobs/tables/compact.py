"""Rewrite small files of typed tables, and files with many deleted rows. The job may run at the
same time: it retries a batch that conflicts. Afterwards, python -m spark_jobs.tables.expire frees
the space."""

from spark_jobs.options.command_line import JobReport, job_command
from spark_jobs.session import create_job_session
from spark_jobs.tables.options import TypedTableOptions
from spark_jobs.tables.target import maintain


def _run(options: TypedTableOptions) -> JobReport:
    session = create_job_session("cdc-tables-compact", options)
    return maintain(session, options, "Compacted", lambda table: table.compact())


if __name__ == "__main__":
    job_command("spark_jobs.tables.compact", TypedTableOptions, _run, about=__doc__)(None)

"""Record that a source table was truncated. Run this command after each TRUNCATE, because the
commit log does not contain it."""

from spark_jobs.options.command_line import JobReport, job_command
from spark_jobs.reconcile.job import open_store
from spark_jobs.reconcile.options import TruncateOptions
from spark_jobs.reconcile.source_table import read_schema
from spark_jobs.session import create_job_session


def _run(options: TruncateOptions) -> JobReport:
    table = read_schema(options.schema_file).table(options.table)
    session = create_job_session("cdc-truncate", options)
    ts_us = options.write_time_us()
    open_store(session, options).truncate(table.id, ts_us)
    return JobReport(
        f"Deleted all writes of {table.full_name} up to write time {ts_us}",
        {"table": table.full_name, "write_time_us": ts_us},
    )


if __name__ == "__main__":
    job_command("spark_jobs.reconcile.truncate", TruncateOptions, _run, about=__doc__)(None)

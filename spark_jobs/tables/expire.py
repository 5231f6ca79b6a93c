"""Remove files that only versions older than `retain.seconds` need. Those versions can no longer be
read. The latest version and its position always stay."""

from spark_jobs.options.command_line import JobReport, job_command
from spark_jobs.session import create_job_session
from spark_jobs.tables.options import ExpireOptions
from spark_jobs.tables.target import maintain


def _run(options: ExpireOptions) -> JobReport:
    session = create_job_session("cdc-tables-expire", options)
    return maintain(session, options, "Expired", lambda table: table.expire(options.retain_s))


if __name__ == "__main__":
    job_command("spark_jobs.tables.expire", ExpireOptions, _run, about=__doc__)(None)

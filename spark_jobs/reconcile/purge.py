"""The command `python -m spark_jobs.reconcile.purge`: removes old deletions and expired values."""

from spark_jobs.options.command_line import JobReport, job_command
from spark_jobs.reconcile.job import open_layout
from spark_jobs.reconcile.options import PurgeOptions
from spark_jobs.reconcile.source_table import read_schema
from spark_jobs.session import create_job_session


def _run(options: PurgeOptions) -> JobReport:
    table = read_schema(options.schema_file).table(options.table)
    session = create_job_session("cdc-purge", options)
    before_s = options.before_s()
    open_layout(session, options).purge(table.id, before_s)
    return JobReport(
        f"Purged deletions and expired values of {table.full_name} from before {before_s}",
        {"table": table.full_name, "before_s": before_s},
    )


_ABOUT = (
    "Remove deletions, tombstones and expired values that are older than `gc.grace.seconds` plus "
    "`lag.seconds`, with all versions that they cover. Afterwards VACUUM of Delta Lake frees the "
    "space."
)

if __name__ == "__main__":
    job_command("spark_jobs.reconcile.purge", PurgeOptions, _run, about=_ABOUT)(None)

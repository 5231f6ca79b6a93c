"""Remove deletions, tombstones and expired values that are older than `gc.grace.seconds` plus
`lag.seconds`, with all writes that they cover. Afterwards, Delta Lake's VACUUM frees the space."""

from spark_jobs.options.command_line import JobReport, job_command
from spark_jobs.reconcile.compaction import purge
from spark_jobs.reconcile.job import open_store
from spark_jobs.reconcile.options import PurgeOptions
from spark_jobs.reconcile.source_table import read_schema
from spark_jobs.session import create_job_session


def _run(options: PurgeOptions) -> JobReport:
    schema = read_schema(options.schema_file)
    table = schema.table(options.table)
    session = create_job_session("cdc-purge", options)
    before_s = options.before_s()
    purge(open_store(session, options), schema, table, before_s)
    return JobReport(
        f"Purged deletions and expired values of {table.full_name} from before {before_s}",
        {"table": table.full_name, "before_s": before_s},
    )


if __name__ == "__main__":
    job_command("spark_jobs.reconcile.purge", PurgeOptions, _run, about=__doc__)(None)

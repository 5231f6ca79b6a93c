"""`python -m spark_jobs.reconcile.purge`: forgets what was deleted or expired long ago."""

from spark_jobs.options import configured
from spark_jobs.reconcile.job import open_layout
from spark_jobs.reconcile.options import PurgeOptions
from spark_jobs.reconcile.source_table import read_schema
from spark_jobs.session import create_session


def _run(options: PurgeOptions) -> None:
    table = read_schema(options.schema_file).table(options.table)
    session = create_session(
        "cdc-purge", settings=options.spark_settings(), jars=options.jars_directory
    )
    before_s = options.before_s()
    open_layout(session, options).purge(table.id, before_s)
    print(f"{table.full_name} holds nothing more of what was deleted before {before_s}")


_ABOUT = (
    "Forget deletions, tombstones and expired values older than `gc.grace.seconds` and "
    "`lag.seconds`, with all that they cover. Delta's VACUUM then frees the space."
)

if __name__ == "__main__":
    configured("spark_jobs.reconcile.purge", PurgeOptions, _run, about=_ABOUT)(None)

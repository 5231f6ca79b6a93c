"""`python -m spark_jobs.reconcile.truncate`: says that a source table was truncated.

The commit log has nothing of a TRUNCATE, so somebody must.
"""

from spark_jobs.options import configured
from spark_jobs.reconcile.job import open_layout
from spark_jobs.reconcile.options import TruncateOptions
from spark_jobs.reconcile.source_table import read_schema
from spark_jobs.reconcile.truncation import truncate
from spark_jobs.session import create_session


def _run(options: TruncateOptions) -> None:
    table = read_schema(options.schema_file).table(options.table)
    session = create_session(
        "cdc-truncate", settings=options.spark_settings(), jars=options.jars_directory
    )
    ts_us = options.write_time_us()
    truncate(session, open_layout(session, options), table.id, ts_us)
    print(f"{table.full_name} is empty up to the write time {ts_us}")


_ABOUT = "Tell that a source table was truncated, which the commit log does not."

if __name__ == "__main__":
    configured("spark_jobs.reconcile.truncate", TruncateOptions, _run, about=_ABOUT)(None)

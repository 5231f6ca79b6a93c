"""The command `python -m spark_jobs.rebuild`."""

from spark_jobs.options.command_line import job_command
from spark_jobs.rebuild.job import main
from spark_jobs.rebuild.options import RebuildOptions

_ABOUT = (
    "Rebuild a source table as it was at a given time, or without the writes of a time window, "
    "from the version store or archived segments. Writes Parquet, Delta, Iceberg or CQL."
)

if __name__ == "__main__":
    job_command("spark_jobs.rebuild", RebuildOptions, main, about=_ABOUT)(None)

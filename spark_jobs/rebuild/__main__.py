"""Rebuild a source table as it was at a given time, or without the writes of a time window, from
the version store or archived segments. Writes Parquet, Delta, Iceberg or CQL."""

from spark_jobs.options.command_line import job_command
from spark_jobs.rebuild.job import main
from spark_jobs.rebuild.options import RebuildOptions

if __name__ == "__main__":
    job_command("spark_jobs.rebuild", RebuildOptions, main, about=__doc__)(None)

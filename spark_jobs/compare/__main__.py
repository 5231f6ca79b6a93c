"""Compare a live Cassandra table with the version store, by token ranges.

The job reads the table at a consistency level, compares digests of ranges and then the rows of
ranges that differ, and reports each difference with its cause.
Exit codes: 0 equal, or only writes and expiries after the read differ; 7 rows differ; 8 the store
is not complete up to the read, so run the command again later; 2 invalid options, or missing jar;
1 any other error."""

from spark_jobs.compare.job import main
from spark_jobs.compare.options import CompareOptions
from spark_jobs.options.command_line import job_command

if __name__ == "__main__":
    job_command("spark_jobs.compare", CompareOptions, main, about=__doc__)(None)

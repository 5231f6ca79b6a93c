"""Keep one typed table for each source table, as SELECT shows it, in Delta or Iceberg.

With `topics`, the job also stores the events of all replicas at `output`, as python -m
spark_jobs.reconcile does. Otherwise, it follows a store that another job fills. Exit codes: 0 the
job ended or was stopped; 2 invalid options or schema, a target of another job, or missing jar; 6 an
event is invalid, or belongs to a table that the job rejects; 1 any other error."""

from spark_jobs.options.command_line import job_command
from spark_jobs.tables.job import main
from spark_jobs.tables.options import TablesJobOptions

if __name__ == "__main__":
    job_command("spark_jobs.tables", TablesJobOptions, main, about=__doc__)(None)

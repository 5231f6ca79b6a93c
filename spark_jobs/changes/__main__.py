"""Publish each row change once, in order per row, with the row before and after the change.

The job follows the version store at `output`. With `topics` it fills the store too; otherwise
python -m spark_jobs.reconcile fills it. Changes go to Kafka in Debezium's envelope, to Delta
tables, or to both. Exit codes: 0 the job ended or was stopped; 2 invalid options or schema,
checkpoint of another job, or missing jar; 6 an event is invalid, or belongs to a table that the job
rejects; 1 any other error."""

from spark_jobs.changes.job import main
from spark_jobs.changes.options import ChangesJobOptions
from spark_jobs.options.command_line import job_command

if __name__ == "__main__":
    job_command("spark_jobs.changes", ChangesJobOptions, main, about=__doc__)(None)

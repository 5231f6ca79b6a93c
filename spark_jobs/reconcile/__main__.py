"""Store the events of all replicas so that their tables can be reconstructed.

The job stores events in any order and with any number of replica copies.
python -m spark_jobs.reconcile.view writes the table as SELECT shows it. After a TRUNCATE, run
python -m spark_jobs.reconcile.truncate, because the commit log does not contain it.
python -m spark_jobs.reconcile.purge removes old deletions. Exit codes: 0 the job ended or was
stopped; 2 invalid options or schema, checkpoint of another job, or missing jar; 6 an event is
invalid, or belongs to a table that the job rejects; 1 any other error."""

from spark_jobs.options.command_line import job_command
from spark_jobs.reconcile.job import main
from spark_jobs.reconcile.options import ReconcileOptions

if __name__ == "__main__":
    job_command("spark_jobs.reconcile", ReconcileOptions, main, about=__doc__)(None)

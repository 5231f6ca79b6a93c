"""Keep the latest document of each key from MongoDB's change events in a Delta table.

The job reads snapshots and streamed changes together, in any order and any number of times, and
keeps the latest change of each document. It remembers a deleted document until no older change can
arrive. Exit codes: 0 the job ended or was stopped; 2 invalid options, checkpoint of another job, or
missing jar; 6 a record is not a change of a document; 1 any other error."""

from spark_jobs.mongo_reconcile.job import main
from spark_jobs.mongo_reconcile.options import MongoJobOptions
from spark_jobs.options.command_line import job_command

if __name__ == "__main__":
    job_command("spark_jobs.mongo_reconcile", MongoJobOptions, main, about=__doc__)(None)

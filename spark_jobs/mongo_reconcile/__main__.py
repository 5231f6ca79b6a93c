"""`python -m spark_jobs.mongo_reconcile`, and for spark-submit."""

from spark_jobs.mongo_reconcile.job import main
from spark_jobs.mongo_reconcile.job_options import MongoJobOptions
from spark_jobs.options import configured

_ABOUT = """The latest document of each key, from MongoDB's change events to a Delta table.

Snapshots and streamed changes are read together, in any order and any number of times; the latest
change of a document wins, a deleted one is remembered until no older change can come again. Exit
codes: 0 done or stopped on request, 2 options, checkpoint or a missing jar, 6 a record that is no
change, 1 anything else."""

if __name__ == "__main__":
    configured("spark_jobs.mongo_reconcile", MongoJobOptions, main, about=_ABOUT)(None)

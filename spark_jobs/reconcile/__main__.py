"""`python -m spark_jobs.reconcile`, and for spark-submit."""

from spark_jobs.options import configured
from spark_jobs.reconcile.job import main
from spark_jobs.reconcile.options import ReconcileOptions

_ABOUT = """Events of all replicas into the table that they come from.

Every cell, row and deletion is kept as a version of its place, in any order and any number of
copies; python -m spark_jobs.reconcile.view makes of them what SELECT shows. Tell of a TRUNCATE by
python -m spark_jobs.reconcile.truncate, forget what was deleted long ago by
python -m spark_jobs.reconcile.purge. Exit codes: 0 done or stopped on request, 2 options, schema,
checkpoint or a missing jar, 6 an event that cannot be taken in, 1 anything else."""

if __name__ == "__main__":
    configured("spark_jobs.reconcile", ReconcileOptions, main, about=_ABOUT)(None)

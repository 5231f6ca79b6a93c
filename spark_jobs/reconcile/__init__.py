"""Events of all replicas → the table that they come from (docs/how-to/spark-reconcile.md).

`reconcile` takes events into a layout, `table_at` gives the source table at a second;
`python -m spark_jobs.reconcile` is the job around them.
"""

from spark_jobs.reconcile.job import reconcile
from spark_jobs.reconcile.source_table import read_schema
from spark_jobs.reconcile.tables import kept_tables
from spark_jobs.reconcile.truncation import truncate
from spark_jobs.reconcile.typed import table_at

__all__ = ["kept_tables", "read_schema", "reconcile", "table_at", "truncate"]

"""Reconstructs Cassandra tables from the events of all replicas.

`reconcile` writes events to a version store, and `table_at` reads the source table at a second.
`python -m spark_jobs.reconcile` runs them as a streaming job.
"""

from spark_jobs.reconcile.job import reconcile
from spark_jobs.reconcile.selected_tables import select_tables
from spark_jobs.reconcile.source_table import read_schema
from spark_jobs.reconcile.store import VersionStore
from spark_jobs.reconcile.visible_rows import table_at

__all__ = ["VersionStore", "read_schema", "reconcile", "select_tables", "table_at"]

"""The version store: the events of all source tables, in one Delta table at a path.

`VersionStore` opens the table and appends to it; `commits` describes what each commit added.
"""

from spark_jobs.reconcile.store.commits import Commit, Offsets
from spark_jobs.reconcile.store.version_store import Batch, StoreSize, VersionStore

__all__ = ["Batch", "Commit", "Offsets", "StoreSize", "VersionStore"]

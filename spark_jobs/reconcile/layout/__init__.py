"""How versions lie in storage: one protocol, one file each way.

`append` adds versions by bucket of the token and compacts later; `merge` keeps one row for each row
of the table and merges into it at once. Both give the same versions.
"""

from spark_jobs.reconcile.layout.append import AppendLayout
from spark_jobs.reconcile.layout.merge import MergeLayout
from spark_jobs.reconcile.layout.protocol import Batch, Layout

__all__ = ["AppendLayout", "Batch", "Layout", "MergeLayout"]

"""Layouts: how versions are stored. One protocol, and one module for each layout.

`append` adds files by bucket and compacts them later. `merge` stores one row for each source row
and merges each micro-batch into it. Both return the same versions.
"""

from spark_jobs.reconcile.layout.append import AppendLayout
from spark_jobs.reconcile.layout.merge import MergeLayout
from spark_jobs.reconcile.layout.protocol import Batch, Layout

__all__ = ["AppendLayout", "Batch", "Layout", "MergeLayout"]

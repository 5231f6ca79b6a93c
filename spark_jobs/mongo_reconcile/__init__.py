"""Keeps the latest document of each key from MongoDB's change events.

`changes` and `latest` transform DataFrames, and `DocumentTable` is the Delta table.
`python -m spark_jobs.mongo_reconcile` runs them as a streaming job.
"""

from spark_jobs.mongo_reconcile.changes import CHANGE_COLUMNS, changes
from spark_jobs.mongo_reconcile.document_table import DocumentTable, latest
from spark_jobs.mongo_reconcile.options import MongoOptions

__all__ = ["CHANGE_COLUMNS", "DocumentTable", "MongoOptions", "changes", "latest"]

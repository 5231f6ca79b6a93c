"""MongoDB's change events → the latest document of each key.

`changes` and `latest` are functions from DataFrame to DataFrame, `Documents` is the Delta table of
a deployment; `python -m spark_jobs.mongo_reconcile` is the job around them.
"""

from spark_jobs.mongo_reconcile.changes import CHANGE_COLUMNS, changes
from spark_jobs.mongo_reconcile.documents import Documents
from spark_jobs.mongo_reconcile.latest import latest
from spark_jobs.mongo_reconcile.options import MongoOptions

__all__ = ["CHANGE_COLUMNS", "Documents", "MongoOptions", "changes", "latest"]

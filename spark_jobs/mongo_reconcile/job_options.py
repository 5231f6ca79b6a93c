"""All options of the job: topics, order, the table."""

from sidecar.properties import Properties, prop
from spark_jobs.mongo_reconcile.options import MongoOptions
from spark_jobs.options import SessionOptions, SourceOptions, StreamOptions


class TableOptions(Properties):
    """Where the documents are."""

    table_path: str = prop(
        "table.path",
        min_length=1,
        doc="Folder or URI of the Delta table of documents; made when it is not there.",
    )


# The fields of a pydantic model stand in the order of its bases from the last to the first.
class MongoJobOptions(SessionOptions, StreamOptions, TableOptions, MongoOptions, SourceOptions):
    """What `python -m spark_jobs.mongo_reconcile` takes."""

    def fixed(self) -> dict[str, str]:
        """What cannot change under a checkpoint."""
        return {"order.by": self.order_by, "table.path": self.table_path}

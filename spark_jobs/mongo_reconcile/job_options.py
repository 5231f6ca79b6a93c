"""All options of the job: topics, order, the table."""

from pydantic import model_validator

from sidecar.properties import Properties, prop
from spark_jobs.mongo_reconcile.options import MongoOptions
from spark_jobs.options import SessionOptions, SourceOptions, StreamOptions
from spark_jobs.options.values import APART, Location, overlap


class TableOptions(Properties):
    """Where the documents are."""

    table_path: Location = prop(
        "table.path",
        min_length=1,
        doc="Folder or URI of the Delta table of documents; made when it is not there.",
    )


# The fields of a pydantic model stand in the order of its bases from the last to the first.
class MongoJobOptions(SessionOptions, StreamOptions, TableOptions, MongoOptions, SourceOptions):
    """What `python -m spark_jobs.mongo_reconcile` takes."""

    @model_validator(mode="after")
    def _places_are_apart(self) -> "MongoJobOptions":
        if overlap(self.checkpoint, self.table_path):
            raise ValueError(f"`checkpoint` and `table.path` overlap: {APART}")
        return self

    def fixed(self) -> dict[str, str]:
        """What cannot change under a checkpoint."""
        return {"order.by": self.order_by, "table.path": self.table_path}

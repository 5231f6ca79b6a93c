"""Options of mongo_reconcile: order of changes, retention of deletes, the table."""

from typing import Annotated, Literal

from pydantic import model_validator

from sidecar.properties.model import Properties, prop
from sidecar.properties.types import LowerCase, Milliseconds
from spark_jobs.options.job import InvalidRecordOptions
from spark_jobs.options.kafka import TopicJobOptions
from spark_jobs.options.types import Location, require_separate

_WEEK_MS = 7 * 24 * 3600 * 1000


class MongoOptions(Properties):
    """Options of the function `changes`, such as `MongoOptions(order_by="topic")`."""

    order_by: Annotated[Literal["cluster-time", "topic"], LowerCase] = prop(
        "order.by",
        default="cluster-time",
        doc="Order of the changes of a document. `cluster-time`: by the cluster time in the header "
        "`cdc.source`. Records without the header, such as Debezium's, precede all others, in "
        "topic order. `topic`: by the place in the topic; then all changes of a document must be "
        "in one partition.",
    )
    tombstone_retention_ms: Milliseconds = prop(
        "tombstone.retention.ms",
        default=_WEEK_MS,
        doc="How long the table remembers a deleted document, so that an older change that "
        "arrives again does not restore it. Use at least the retention time of the topics.",
    )


# A pydantic model orders its fields by its bases, from the last to the first.
class MongoJobOptions(TopicJobOptions, InvalidRecordOptions, MongoOptions):
    table_path: Location = prop(
        "table.path",
        min_length=1,
        doc="Folder or URI of the Delta table of documents. The job creates it if necessary.",
    )

    @model_validator(mode="after")
    def _folders_are_separate(self) -> "MongoJobOptions":
        places = {"checkpoint": self.checkpoint, "table.path": self.table_path}
        require_separate("checkpoint", self.checkpoint, {"table.path": self.table_path})
        require_separate("dead.letter.path", self.dead_letter_path, places)
        return self

    def fixed(self) -> dict[str, str]:
        """Options that must not change while a checkpoint is in use."""
        return {"order.by": self.order_by, "table.path": self.table_path}

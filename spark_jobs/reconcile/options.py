"""Options of reconcile and of its commands view, truncate and purge."""

import time
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import model_validator

from sidecar.properties.model import Properties, prop
from sidecar.properties.types import LowerCase
from spark_jobs.options.job import InvalidRecordOptions, SessionOptions
from spark_jobs.options.kafka import TopicJobOptions
from spark_jobs.options.types import (
    Count,
    Location,
    MicrosecondOfTime,
    SecondOfTime,
    Seconds,
    TableList,
    TableName,
    early_time_warnings,
    require_separate,
)

_TEN_DAYS_S = 10 * 86_400
_ONE_DAY_S = 86_400


class TableOptions(Properties):
    """The version store and the schema of its tables."""

    output: Location = prop(
        "output",
        min_length=1,
        doc="Folder or URI of the version store, a Delta table for all source tables.",
    )
    layout: Annotated[Literal["append", "merge"], LowerCase] = prop(
        "layout",
        default="append",
        rejected_values={
            "merge": "the store has one layout. Remove `layout`, and read the topics again with a "
            "new `output` and a new `checkpoint`"
        },
        doc="Only `append`: the job adds files by bucket and compacts them later, at a cost that "
        "does not grow with the table. The next release removes this option.",
    )
    buckets: Count = prop(
        "buckets",
        default=16,
        doc="Number of buckets of a table, by token. A major compaction rewrites a whole bucket, "
        "so aim for 0.5 to 2 GB each. You cannot change it later.",
    )
    compact_after_files: int = prop(
        "compact.after.files",
        default=8,
        ge=1,
        doc="Number of uncompacted files in a bucket above which the job compacts it.",
    )
    schema_file: Path = prop(
        "schema.file",
        doc="Description of the source tables: the output of `DESCRIBE … WITH INTERNALS`, the rows "
        "of `system_schema` as JSON, or an agent's `schema_history.json.gz`. The job reads it at "
        "every start; update it after a schema change.",
    )


class ReconcileOptions(TopicJobOptions, InvalidRecordOptions, TableOptions):
    tables: TableList = prop(
        "tables",
        default=(),
        doc="Tables to store, as `keyspace.table`. The job skips events of other tables. Defaults "
        "to all tables; then the job fails for an event of a table that is not in `schema.file`.",
    )
    counter_tables: TableList = prop(
        "counter.tables",
        default=(),
        doc="Counter tables that had `cdc = true` from their first write, as `keyspace.table`. "
        "The job fails for events of other counter tables, because their earlier counts are not in "
        "the log.",
    )
    history_s: Seconds = prop(
        "history.retention.seconds",
        default=0,
        ge=0,
        doc="How long compaction keeps superseded row states in the level `history`. 0 keeps none.",
    )

    @model_validator(mode="after")
    def _folders_are_separate(self) -> "ReconcileOptions":
        require_separate("checkpoint", self.checkpoint, {"output": self.output})
        others = {"checkpoint": self.checkpoint, "output": self.output}
        require_separate("dead.letter.path", self.dead_letter_path, others)
        return self

    def warnings(self) -> tuple[str, ...]:
        unselected = [
            name for name in self.counter_tables if self.tables and name not in self.tables
        ]
        return super().warnings() + tuple(
            f"`counter.tables` contains {name}, but `tables` does not, so it has no effect."
            for name in unselected
        )


class FollowOptions(ReconcileOptions):
    """Options of a job that follows a store. Without topics, another job fills the store."""

    topics_are_optional: ClassVar[bool] = True
    job: ClassVar[str]

    @property
    def folder(self) -> str:
        """The folder for the files of the follower and of the job."""
        return f"{self.checkpoint.rstrip('/')}/{self.job}"


class StoredTableOptions(SessionOptions, TableOptions):
    """Options of a command for one of the stored tables."""

    table: TableName = prop("table", min_length=1, doc="The source table, as `keyspace.table`.")


class ViewOptions(StoredTableOptions):
    view_output: Location = prop(
        "view.output",
        min_length=1,
        doc="Folder or URI of the Delta table to write. The command replaces its content.",
    )
    at_s: SecondOfTime | None = prop(
        "at.s",
        default=None,
        doc="Time of the view in seconds since 1970. Values that have expired by then are omitted. "
        "Defaults to now.",
    )

    @model_validator(mode="after")
    def _view_is_separate(self) -> "ViewOptions":
        require_separate("view.output", self.view_output, {"output": self.output})
        return self

    def second(self) -> int:
        return int(time.time()) if self.at_s is None else self.at_s


class TruncateOptions(StoredTableOptions):
    at_us: MicrosecondOfTime | None = prop(
        "at.us",
        default=None,
        doc="Write time of the truncation in microseconds since 1970. The command deletes all "
        "writes up to this time. Defaults to now.",
    )

    def warnings(self) -> tuple[str, ...]:
        return super().warnings() + early_time_warnings(at_us=self.at_us)

    def write_time_us(self) -> int:
        return time.time_ns() // 1000 if self.at_us is None else self.at_us


class PurgeOptions(StoredTableOptions):
    gc_grace_s: Seconds = prop(
        "gc.grace.seconds",
        default=_TEN_DAYS_S,
        ge=0,
        doc="`gc_grace_seconds` of the source table.",
    )
    lag_s: Seconds = prop(
        "lag.seconds",
        default=_ONE_DAY_S,
        ge=0,
        doc="Maximum lag of a write on its way to the store, over all agents and topics. Writes "
        "with a longer lag can make deleted values visible again.",
    )

    def before_s(self) -> int:
        return int(time.time()) - self.gc_grace_s - self.lag_s

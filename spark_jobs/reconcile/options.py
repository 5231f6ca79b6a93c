"""Options of reconcile and of the commands around it."""

import time
from pathlib import Path
from typing import Annotated, Literal

from pydantic import model_validator

from sidecar.properties import LowerCase, Properties, prop
from spark_jobs.options import SessionOptions, SourceOptions, StreamOptions
from spark_jobs.options.values import (
    APART,
    EARLIEST_US,
    Count,
    Location,
    MicrosecondOfTime,
    SecondOfTime,
    Seconds,
    TableList,
    TableName,
    overlap,
)

_TEN_DAYS_S = 10 * 86_400
_ONE_DAY_S = 86_400


class TableOptions(Properties):
    """Where versions lie, and which tables they are of."""

    output: Location = prop(
        "output",
        min_length=1,
        doc="Folder or URI of the Delta table that holds the versions of all tables.",
    )
    layout: Annotated[Literal["append", "merge"], LowerCase] = prop(
        "layout",
        default="append",
        doc="How they lie there: `append` adds versions by bucket and compacts later, at a cost "
        "that does not grow with the table; `merge` merges into one row for each row at once, "
        "for small tables. Cannot change.",
    )
    buckets: Count = prop(
        "buckets",
        default=16,
        doc="Parts of a table by token, each of which is compacted as a whole: aim at 0.5 to 2 GB "
        "each. Cannot change.",
    )
    compact_after_files: int = prop(
        "compact.after.files",
        default=8,
        ge=1,
        doc="A bucket with more loose files is compacted between two micro-batches.",
    )
    schema_file: Path = prop(
        "schema.file",
        doc="Description of the source tables: what `DESCRIBE … WITH INTERNALS` prints, the rows "
        "of `system_schema` as JSON, or an agent's `schema_history.json.gz`. Read at every start, "
        "so describe anew what changes.",
    )


class ReconcileOptions(SessionOptions, SourceOptions, StreamOptions, TableOptions):
    """The job."""

    tables: TableList = prop(
        "tables",
        default=(),
        doc="Tables to keep, as `keyspace.table`; events of others are passed over. Not set: all, "
        "and an event of a table that `schema.file` lacks stops the job.",
    )
    counter_tables: TableList = prop(
        "counter.tables",
        default=(),
        doc="Counter tables that had `cdc = true` from their first write on, as `keyspace.table`. "
        "Of others the log does not tell what was counted before, so their events stop the job.",
    )

    @model_validator(mode="after")
    def _places_are_apart(self) -> "ReconcileOptions":
        if overlap(self.checkpoint, self.output):
            raise ValueError(f"`checkpoint` and `output` overlap: {APART}")
        return self

    def warnings(self) -> tuple[str, ...]:
        left_out = [name for name in self.counter_tables if self.tables and name not in self.tables]
        return super().warnings() + tuple(
            f"`counter.tables` names {name}, which `tables` leaves out." for name in left_out
        )


class StoredTableOptions(SessionOptions, TableOptions):
    """One table among those that are held."""

    table: TableName = prop("table", min_length=1, doc="The source table, as `keyspace.table`.")


class ViewOptions(StoredTableOptions):
    """The command that writes the typed view."""

    view_output: Location = prop(
        "view.output",
        min_length=1,
        doc="Folder or URI of the Delta table that becomes what `SELECT *` shows.",
    )
    at_s: SecondOfTime | None = prop(
        "at.s",
        default=None,
        doc="The second of the view since 1970: what has expired by then is not shown. Not set: "
        "now.",
    )

    @model_validator(mode="after")
    def _views_are_apart(self) -> "ViewOptions":
        if overlap(self.view_output, self.output):
            raise ValueError(f"`view.output` and `output` overlap: {APART}")
        return self

    def second(self) -> int:
        return int(time.time()) if self.at_s is None else self.at_s


class TruncateOptions(StoredTableOptions):
    """The command that says that the source table was truncated."""

    at_us: MicrosecondOfTime | None = prop(
        "at.us",
        default=None,
        doc="Write time of the truncation in microseconds since 1970: what was written up to then "
        "is gone. Not set: now.",
    )

    def warnings(self) -> tuple[str, ...]:
        if self.at_us is None or self.at_us >= EARLIEST_US:
            return super().warnings()
        sentence = (
            f"`at.us={self.at_us}` is a time before 1974: it counts microseconds, so a time in "
            "seconds is multiplied by 1000000."
        )
        return (*super().warnings(), sentence)

    def write_time_us(self) -> int:
        return time.time_ns() // 1000 if self.at_us is None else self.at_us


class PurgeOptions(StoredTableOptions):
    """The command that forgets what has no more to say."""

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
        doc="The longest that any agent, topic or this job may be behind. Writes that come later "
        "than this may show again what was deleted.",
    )

    def before_s(self) -> int:
        return int(time.time()) - self.gc_grace_s - self.lag_s

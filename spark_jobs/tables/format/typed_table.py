"""The interface of typed tables, and the code that both formats share."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, DoubleType, FloatType

from spark_jobs.column_names import ROW_ID
from spark_jobs.delta_table import listed, table_properties
from spark_jobs.errors import JobError
from spark_jobs.tables.columns import (
    ColumnChange,
    ColumnChangeError,
    Columns,
    Widen,
    alter_statement,
    nullable,
    quoted,
    sql_columns,
)
from spark_jobs.tables.commit_position import CommitPosition, Part, progress

OP, ROW = "op", "row"
MERGE_SETTINGS = {"spark.sql.autoBroadcastJoinThreshold": str(256 << 20)}
"""Session settings for a MERGE.

A larger source is joined by sorting, because each executor stores the whole broadcast. Spark
ignores hints in the source of an Iceberg MERGE.
"""
_RECENT = 16
"""Commits to read first: more than one maintenance run makes, which may contain an old position."""
APP_PROPERTY, TABLE_PROPERTY = "cdc.app", "cdc.table.id"
"""Properties of a table: the store and the source table that fill it."""


@dataclass(frozen=True, slots=True)
class NetChanges:
    """At most one change per row."""

    frame: DataFrame
    """The columns `cdc_row_id`, `op` (c, u or d) and `row`."""
    columns: Columns
    """The columns of the table, without `cdc_row_id`, in the order of `row`."""
    inserts: int
    matched: int
    """Number of updates and deletes."""

    @property
    def is_empty(self) -> bool:
        return not self.inserts and not self.matched

    def __str__(self) -> str:
        return f"insert {self.inserts:,} rows, update or delete {self.matched:,}"


def net_changes(changes: DataFrame, columns: Columns, counts: Mapping[str, int]) -> NetChanges:
    """Convert changes for a table with these `columns` (without `cdc_row_id`).

    `changes` has the columns of `spark_jobs.merge.Merger.changes`, and `counts` is their number by
    `op`. The changes are read several times, so they should be cached.
    """
    after = F.col("after")
    row = F.struct(*(after[name].cast(kind).alias(name) for name, kind in columns.items()))
    frame = changes.where(F.col(OP).isNotNull()).select(
        ROW_ID, OP, F.when(after.isNotNull(), row).alias(ROW)
    )
    return NetChanges(frame, columns, counts["c"], counts["u"] + counts["d"])


def merge_statement(target: str, changes: NetChanges, view: str) -> str:
    """The MERGE of updates and deletes. It only has matched clauses, so it is an inner join.

    The join reads the row ids of the table once. It does not search for new rows.
    """
    assignments = ", ".join(f"t.{quoted(name)} = s.{quoted(ROW, name)}" for name in changes.columns)
    return (
        f"MERGE INTO {target} AS t USING (SELECT * FROM {quoted(view)} WHERE {OP} <> 'c') "
        f"AS s ON t.{ROW_ID} = s.{ROW_ID} "
        f"WHEN MATCHED AND s.{OP} = 'd' THEN DELETE WHEN MATCHED THEN UPDATE SET {assignments}"
    )


def insert_statement(
    target: str, changes: NetChanges, view: str, *, with_updates: bool = False
) -> str:
    """The INSERT of rows that did not exist before the batch and, `with_updates`, updated rows."""
    names = ", ".join(quoted(name) for name in changes.columns)
    values = ", ".join(quoted(ROW, name) for name in changes.columns)
    return (
        f"INSERT INTO {target} ({ROW_ID}, {names}) "
        f"SELECT {ROW_ID}, {values} FROM {quoted(view)} "
        + (f"WHERE {OP} <> 'd'" if with_updates else f"WHERE {OP} = 'c'")
    )


class TargetError(JobError):
    """The table belongs to another program, store or source table."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class TableDefinition:
    """A table to create. `app` identifies the store that fills it."""

    app: str
    table_id: str
    columns: Columns
    """All columns except `cdc_row_id`."""
    partition_by: str = ""
    """Columns or transforms, as in PARTITIONED BY."""
    cluster_by: str = ""
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Commit:
    """A readable commit. `version` is the Delta version or the Iceberg snapshot."""

    version: int
    committed_at: datetime
    operation: str
    position: CommitPosition | None
    """None for a commit of another program."""


def local_time(since_1970_ms: int) -> datetime:
    """The time of a commit as Spark returns it: local time, without a time zone."""
    return datetime.fromtimestamp(since_1970_ms / 1000, UTC).astimezone().replace(tzinfo=None)


def settled(newest_first: Sequence[Commit]) -> list[Commit]:
    """Replace the position of each commit with the position that its rows show.

    Maintenance repeats the latest position that it has read. Its commit may follow a newer batch.
    """
    found: list[Commit] = []
    latest: CommitPosition | None = None
    for commit in reversed(newest_first):
        position = commit.position
        if position is not None:
            if latest is None or position.number >= latest.number:
                latest = position
            commit = replace(commit, position=latest)
        found.append(commit)
    return found[::-1]


def newest_position(newest_first: Sequence[Commit]) -> CommitPosition | None:
    """The position in the newest commit of this job."""
    return next((each.position for each in newest_first if each.position is not None), None)


def complete_version(newest_first: Sequence[Commit]) -> int:
    """The newest version without a half-committed batch."""
    version = newest_first[0].version
    for commit in newest_first:
        if commit.position is None:
            continue
        if commit.position.part != Part.MERGE:
            break
        version = commit.version - 1
    return version


class TypedTable(ABC):
    """One typed table: `cdc_row_id` and the columns of the source table."""

    format_name: str
    integers: Sequence[type[DataType]]
    """The integer types that the format stores, from narrow to wide."""
    view = "cdc_net_changes"
    """The temporary view with the changes of a batch."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session

    @property
    @abstractmethod
    def sql_name(self) -> str:
        """The SQL name of the table."""

    @abstractmethod
    def exists(self) -> bool: ...

    @abstractmethod
    def create(self, definition: TableDefinition) -> None: ...

    def _create(
        self, definition: TableDefinition, properties: Mapping[str, str], layout: str
    ) -> None:
        found = {
            **properties,
            APP_PROPERTY: definition.app,
            TABLE_PROPERTY: definition.table_id,
            **definition.properties,
        }
        self._session.sql(
            f"CREATE TABLE {self.sql_name} ({ROW_ID} BINARY, {sql_columns(definition.columns)}) "
            f"USING {self.format_name.lower()} {layout} TBLPROPERTIES ({listed(found)})"
        )

    def owner(self) -> tuple[str, str] | None:
        """The `app` and `table_id` at creation; None if another program created the table."""
        properties = table_properties(self._session, self.sql_name)
        if APP_PROPERTY not in properties:
            return None
        return properties[APP_PROPERTY], properties[TABLE_PROPERTY]

    def columns(self) -> dict[str, DataType]:
        """The columns without `cdc_row_id`."""
        columns = nullable(self._latest().schema)
        columns.pop(ROW_ID, None)
        return columns

    @abstractmethod
    def _latest(self) -> DataFrame:
        """The rows of the latest commit."""

    def stored_type(self, kind: DataType) -> DataType:
        """The type in which the format stores a source type."""
        return kind

    def evolve(self, changes: Sequence[ColumnChange]) -> None:
        """Change the columns. If it raises `ColumnChangeError`, it has changed nothing."""
        for change in changes:
            if isinstance(change, Widen) and not self._is_wider(change.before, change.type):
                raise ColumnChangeError(
                    f"{self.sql_name}: {self.format_name} cannot change the column "
                    f"{'.'.join(change.path)} from {change.before.simpleString()} to "
                    f"{change.type.simpleString()}. Start with a new target."
                )
        self._prepare(changes)
        for change in changes:
            self._session.sql(alter_statement(self.sql_name, change))

    @abstractmethod
    def _prepare(self, changes: Sequence[ColumnChange]) -> None:
        """Prepare the table for column changes. Raises `ColumnChangeError`."""

    def _is_wider(self, old: DataType, new: DataType) -> bool:
        if type(old) in self.integers and type(new) in self.integers:
            return self.integers.index(type(old)) < self.integers.index(type(new))
        return isinstance(old, FloatType) and isinstance(new, DoubleType)

    @abstractmethod
    def commit(
        self, changes: NetChanges, position: CommitPosition, *, is_merged: bool = False
    ) -> None:
        """Commit a batch that is not empty; with `is_merged`, only its new rows."""

    @abstractmethod
    def record(self, position: CommitPosition) -> None:
        """Commit a position without changing rows."""

    @abstractmethod
    def is_conflict(self, error: Exception) -> bool:
        """Whether another commit came first, so that nothing was committed."""

    @abstractmethod
    def commits(self, limit: int | None = None) -> list[Commit]:
        """The commits in the history of the table, newest first; at most `limit`."""

    @abstractmethod
    def read(self, version: int | None = None) -> DataFrame:
        """The rows of a version; by default, of the latest complete batch."""

    @abstractmethod
    def compact(self) -> Mapping[str, int]:
        """Rewrite small files and files with deleted rows. Returns what changed."""

    @abstractmethod
    def expire(self, retain_s: int) -> Mapping[str, int]:
        """Remove files that only versions older than `retain_s` seconds need."""


def read_recent_commits(table: TypedTable) -> list[Commit]:
    """The newest commits of a table, including a complete batch if there is one.

    Reading a long history is expensive, and usually the newest commit contains the position.
    """
    for limit in (_RECENT, None):
        found = table.commits(limit)
        if progress(commit.position for commit in found).complete is not None:
            break
    return found

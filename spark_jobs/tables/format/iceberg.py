"""Typed tables in Iceberg, in a catalog.

Updates and deletes are merged on read, with deletion vectors in format version 3 and position
deletes in version 2. A batch with updates and new rows is written to a branch. Then `main` is
fast-forwarded to the branch, so readers see the whole batch or nothing. This fails if another
commit came first."""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ByteType, DataType, IntegerType, LongType, ShortType

from spark_jobs.delta_table import table_properties
from spark_jobs.session_conf import session_conf
from spark_jobs.tables.columns import (
    Add,
    ColumnChange,
    ColumnChangeError,
    Rename,
    is_in_map_key,
    mapped,
    quoted,
)
from spark_jobs.tables.commit_position import CommitPosition, read_position
from spark_jobs.tables.format.equality_deletes import delete_by_id, iceberg_table
from spark_jobs.tables.format.typed_table import (
    MERGE_SETTINGS,
    OP,
    Commit,
    NetChanges,
    TableDefinition,
    TypedTable,
    insert_statement,
    local_time,
    merge_statement,
    newest_position,
    read_recent_commits,
    settled,
)

Deletes = Literal["position", "equality"]
"""How a batch deletes rows: by their positions, which a scan finds, or by their ids."""

_POSITION = "cdc.position"
_BRANCH = "cdc_batch_"
_SNAPSHOT_PROPERTY = f"spark.sql.iceberg.snapshot-property.{_POSITION}"
_CONFLICTS = ("Cannot fast-forward", "CommitFailedException", "ValidationException", "is not an ")
_MERGE_ON_READ = {f"write.{name}.mode": "merge-on-read" for name in ("merge", "update", "delete")}
_FEW_FILES = {
    "write.distribution-mode": "none",
    # Otherwise, each task that scans the table would write files.
    "write.merge.distribution-mode": "hash",
}
_EQUALITY = 2
"""The `content` of an equality delete file in Iceberg's metadata."""
_LEAST_ORPHAN_AGE_S = 86_400
"""Iceberg refuses to look for younger orphan files, which may belong to a running commit."""


class IcebergTypedTable(TypedTable):
    """The table with a qualified name: catalog, namespaces, table."""

    format_name = "Iceberg"
    integers = (IntegerType, LongType)

    def __init__(
        self, session: SparkSession, name: Sequence[str], deletes: Deletes = "position"
    ) -> None:
        super().__init__(session)
        self._name = tuple(name)
        self._deletes = deletes

    @property
    def sql_name(self) -> str:
        return quoted(*self._name)

    def exists(self) -> bool:
        return bool(self._session.catalog.tableExists(self.sql_name))

    def create(self, definition: TableDefinition) -> None:
        for depth in range(2, len(self._name)):
            namespace = quoted(*self._name[:depth])
            self._session.sql(f"CREATE NAMESPACE IF NOT EXISTS {namespace}")
        # With these settings, each task would write a file into each partition.
        properties = _MERGE_ON_READ | ({} if definition.partition_by else _FEW_FILES)
        layout = f"PARTITIONED BY ({definition.partition_by})" if definition.partition_by else ""
        self._create(definition, properties, layout)
        if definition.cluster_by:
            self._session.sql(
                f"ALTER TABLE {self.sql_name} WRITE LOCALLY ORDERED BY {definition.cluster_by}"
            )

    def _latest(self) -> DataFrame:
        return self._session.table(self.sql_name)

    def stored_type(self, kind: DataType) -> DataType:
        return mapped(kind, _stored_scalar)

    def _prepare(self, changes: Sequence[ColumnChange]) -> None:
        columns = self.columns()
        for change in changes:
            if isinstance(change, Add | Rename) and is_in_map_key(columns, change.path):
                raise ColumnChangeError(
                    f"{self.sql_name}: the key of the map {change.path[0]} has a new field, but "
                    "Iceberg cannot change map keys. Start with a new target."
                )

    def commit(
        self, changes: NetChanges, position: CommitPosition, *, is_merged: bool = False
    ) -> None:
        session = changes.frame.sparkSession
        changes.frame.createOrReplaceTempView(self.view)
        settings = {**MERGE_SETTINGS, _SNAPSHOT_PROPERTY: position.to_json()}
        with session_conf(session, settings):
            if changes.matched and self._deletes == "equality":
                with self._batch_branch(session) as branch:
                    self._replace_by_id(session, changes, position, branch)
            elif changes.matched and changes.inserts:
                with self._batch_branch(session) as branch:
                    target = self._on_branch(branch)
                    session.sql(merge_statement(target, changes, self.view))
                    session.sql(insert_statement(target, changes, self.view))
            elif changes.matched:
                session.sql(merge_statement(self.sql_name, changes, self.view))
            else:
                session.sql(insert_statement(self.sql_name, changes, self.view))

    def _replace_by_id(
        self, session: SparkSession, changes: NetChanges, position: CommitPosition, branch: str
    ) -> None:
        """Delete all changed rows by their ids, then insert their new versions."""
        ids = changes.frame.where(F.col(OP) != "c")
        properties = {_POSITION: position.to_json()}
        delete_by_id(ids, changes.matched, self.sql_name, branch, properties)
        target = self._on_branch(branch)
        session.sql(insert_statement(target, changes, self.view, with_updates=True))

    @contextmanager
    def _batch_branch(self, session: SparkSession) -> Iterator[str]:
        """Create a branch, and fast-forward `main` to it after the block."""
        branch = f"{_BRANCH}{uuid.uuid4().hex}"
        self._drop_branches(session)
        session.sql(f"ALTER TABLE {self.sql_name} CREATE BRANCH {quoted(branch)}")
        yield branch
        self._call("fast_forward", f"branch => 'main', to => '{branch}'", session)
        session.sql(f"ALTER TABLE {self.sql_name} DROP BRANCH {quoted(branch)}")

    def _on_branch(self, branch: str) -> str:
        return quoted(*self._name, f"branch_{branch}")

    def _drop_branches(self, session: SparkSession) -> None:
        """Drop the branches of jobs that were killed."""
        for name in list(self._java_table().refs()):
            if name.startswith(_BRANCH):
                session.sql(f"ALTER TABLE {self.sql_name} DROP BRANCH {quoted(name)}")

    def record(self, position: CommitPosition) -> None:
        self._java_table().newFastAppend().set(_POSITION, position.to_json()).commit()

    def is_conflict(self, error: Exception) -> bool:
        return any(text in str(error) for text in _CONFLICTS)

    def commits(self, limit: int | None = None) -> list[Commit]:
        table = self._java_table()
        snapshot = table.currentSnapshot()
        found: list[Commit] = []
        while snapshot is not None and len(found) != limit:
            moment = local_time(snapshot.timestampMillis())
            position = read_position(snapshot.summary().get(_POSITION))
            found.append(Commit(snapshot.snapshotId(), moment, snapshot.operation(), position))
            parent = snapshot.parentId()
            snapshot = None if parent is None else table.snapshot(parent)
        return settled(found)

    def read(self, version: int | None = None) -> DataFrame:
        self._session.sql(f"REFRESH TABLE {self.sql_name}")
        reader = self._session.read
        if version is not None:
            reader = reader.option("versionAsOf", version)
        return reader.table(self.sql_name)

    def compact(self) -> Mapping[str, int]:
        by_id = self._session.sql(
            f"SELECT 1 FROM {self.sql_name}.delete_files WHERE content = {_EQUALITY} LIMIT 1"
        )
        # Deletes by id apply to all earlier files.
        due = "delete-ratio-threshold', '0.1" if by_id.isEmpty() else "delete-file-threshold', '1"
        options = f"options => map('{due}')"
        if "sort-order" in table_properties(self._session, self.sql_name):
            # By default, Iceberg would not sort the rows of the new files.
            options = f"strategy => 'sort', {options}"
        files = self._call("rewrite_data_files", options)
        # By default, Iceberg ignores fewer than five files, even if their rows are gone.
        all_files = "options => map('rewrite-all', 'true')"
        deletes = self._call("rewrite_position_delete_files", all_files)
        self._restate()
        return {
            "files_removed": files["rewritten_data_files_count"],
            "files_added": files["added_data_files_count"],
            "delete_files_removed": files["removed_delete_files_count"]
            + deletes["rewritten_delete_files_count"],
        }

    def expire(self, retain_s: int) -> Mapping[str, int]:
        self._restate()
        expired = self._call(
            "expire_snapshots", f"older_than => {_before(retain_s)}, retain_last => 1"
        )
        files = sum(count for name, count in expired.items() if name.startswith("deleted_"))
        orphan_age = _before(max(retain_s, _LEAST_ORPHAN_AGE_S))
        orphans = self._session.sql(
            self._procedure("remove_orphan_files", f"older_than => {orphan_age}")
        ).count()
        return {"files_removed": files, "orphan_files_removed": orphans}

    def _restate(self) -> None:
        """Repeat the latest position in a new current snapshot, which never expires."""
        position = newest_position(read_recent_commits(self))
        if position is not None:
            self.record(position)

    def _call(
        self, procedure: str, arguments: str, session: SparkSession | None = None
    ) -> dict[str, int]:
        rows = (session or self._session).sql(self._procedure(procedure, arguments)).collect()
        return rows[0].asDict()

    def _procedure(self, procedure: str, arguments: str) -> str:
        catalog, table = quoted(self._name[0]), quoted(*self._name[1:])
        return f"CALL {catalog}.system.{procedure}(table => '{table}', {arguments})"

    def _java_table(self) -> Any:
        """The table with the commits of all processes, which the catalog's cache may not have."""
        table = iceberg_table(self._session, self.sql_name)
        table.refresh()
        return table


def _before(seconds: int) -> str:
    moment = datetime.now(UTC) - timedelta(seconds=seconds)
    return f"TIMESTAMP '{moment:%Y-%m-%d %H:%M:%S.%f} UTC'"


def _stored_scalar(kind: DataType) -> DataType:
    """Iceberg has no 8-bit and 16-bit integers."""
    return IntegerType() if isinstance(kind, ByteType | ShortType) else kind

"""Typed tables in Delta Lake, at a path.

Updates and deletes mark rows in deletion vectors. Columns are mapped by name; otherwise, Delta
could not drop or rename them. A batch with updates and new rows has two commits. Between them, a
reader sees the updates without the new rows.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.readwriter import DataFrameReader
from pyspark.sql.types import ByteType, IntegerType, LongType, ShortType
from pyspark.sql.utils import is_remote

from spark_jobs.session_conf import session_conf, small_batch_conf, vacuum_conf
from spark_jobs.storage import Folder
from spark_jobs.tables.columns import ColumnChange, Widen, quoted
from spark_jobs.tables.commit_position import CommitPosition, Part, read_position
from spark_jobs.tables.format.typed_table import (
    MERGE_SETTINGS,
    Commit,
    NetChanges,
    TableDefinition,
    TypedTable,
    complete_version,
    insert_statement,
    local_time,
    merge_statement,
    newest_position,
    read_recent_commits,
    settled,
)

_CONFLICT = "DELTA_CONCURRENT_"
_METADATA = "spark.databricks.delta.commitInfo.userMetadata"
_TXN = "spark.databricks.delta.write.txn"
_SKIP_EMPTY = "spark.databricks.delta.skipRecordingEmptyCommits"
_PROPERTIES = {
    "delta.columnMapping.mode": "name",
    "delta.enableDeletionVectors": "true",
}
_LOG = "_delta_log"
_HOUR_S = 3600


class DeltaTypedTable(TypedTable):
    """The table at a folder or URI."""

    format_name = "Delta"
    integers = (ByteType, ShortType, IntegerType, LongType)

    def __init__(self, session: SparkSession, path: str) -> None:
        super().__init__(session)
        self._path = path
        self._known: list[Commit] = []
        """The most recently read commits, newest first."""

    @property
    def sql_name(self) -> str:
        return f"delta.{quoted(self._path)}"

    def exists(self) -> bool:
        return Folder(self._session, self._path).exists(_LOG)

    def create(self, definition: TableDefinition) -> None:
        layout = ""
        if definition.partition_by:
            layout = f"PARTITIONED BY ({definition.partition_by})"
        elif definition.cluster_by:
            layout = f"CLUSTER BY ({definition.cluster_by})"
        self._create(definition, _PROPERTIES, layout)

    def _latest(self) -> DataFrame:
        return self._reader().load(self._path)

    def _prepare(self, changes: Sequence[ColumnChange]) -> None:
        if any(isinstance(change, Widen) for change in changes):
            self._session.sql(
                f"ALTER TABLE {self.sql_name} "
                "SET TBLPROPERTIES ('delta.enableTypeWidening' = 'true')"
            )

    def commit(
        self, changes: NetChanges, position: CommitPosition, *, is_merged: bool = False
    ) -> None:
        session = changes.frame.sparkSession
        changes.frame.createOrReplaceTempView(self.view)
        few = small_batch_conf(session, changes.inserts + changes.matched)
        if changes.matched and not is_merged:
            part = Part.MERGE if changes.inserts else position.part
            statement = merge_statement(self.sql_name, changes, self.view)
            settings = {**MERGE_SETTINGS, **few, **_transaction(position.as_part(part))}
            with session_conf(session, settings):
                session.sql(statement)
        if changes.inserts or is_merged:
            part = Part.INSERT if changes.matched else Part.WHOLE
            statement = insert_statement(self.sql_name, changes, self.view)
            with session_conf(session, {**few, **_transaction(position.as_part(part))}):
                session.sql(statement)

    def record(self, position: CommitPosition) -> None:
        settings = {_METADATA: position.to_json(), _SKIP_EMPTY: "false"}
        with session_conf(self._session, settings):
            name = self.sql_name
            self._session.sql(f"INSERT INTO {name} SELECT * FROM {name} WHERE false")

    def is_conflict(self, error: Exception) -> bool:
        return _CONFLICT in str(error)

    def commits(self, limit: int | None = None) -> list[Commit]:
        newer = [] if limit is None or is_remote() else list(self._read_log())
        if newer and _is_same(newer[0], self._known[0]):
            self._known = [*newer[::-1], *self._known[1:]][:limit]
            return settled(self._known)
        newest = "" if limit is None else f" LIMIT {limit}"
        history = self._session.sql(f"DESCRIBE HISTORY {self.sql_name}{newest}")
        rows = history.select("version", "timestamp", "operation", "userMetadata").collect()
        found = [
            Commit(version, moment, operation, read_position(text))
            for version, moment, operation, text in rows
        ]
        self._known = sorted(found, key=lambda commit: -commit.version)
        return settled(self._known)

    def _read_log(self) -> Iterator[Commit]:
        """Yield the commits from the newest known commit on, oldest first, from Delta's log.

        This needs no Spark job. If the table was dropped and created again meanwhile, the first
        commit differs from the known commit, or there are no commits.
        """
        log = Folder(self._session, f"{self._path}/{_LOG}")
        version = self._known[0].version if self._known else None
        while version is not None and log.exists(name := f"{version:020}.json"):
            actions = map(json.loads, log.read_text(name).strip().split("\n"))
            info: dict[str, Any]
            info = next((each["commitInfo"] for each in actions if "commitInfo" in each), {})
            moment = local_time(info.get("timestamp", 0))
            position = read_position(info.get("userMetadata"))
            yield Commit(version, moment, info.get("operation", ""), position)
            version += 1

    def read(self, version: int | None = None) -> DataFrame:
        if version is None:
            version = complete_version(read_recent_commits(self))
        return self._reader().option("versionAsOf", version).load(self._path)

    def compact(self) -> Mapping[str, int]:
        with session_conf(self._session, self._restated()):
            metrics = self._session.sql(f"OPTIMIZE {self.sql_name}").collect()[0]["metrics"]
        return {
            "files_removed": metrics["numFilesRemoved"],
            "files_added": metrics["numFilesAdded"],
        }

    def expire(self, retain_s: int) -> Mapping[str, int]:
        settings = {
            **self._restated(),
            # `retain.seconds` replaces this check, which allows only a week or more.
            "spark.databricks.delta.retentionDurationCheck.enabled": "false",
            **vacuum_conf(self._session),
        }
        hours = retain_s / _HOUR_S
        with session_conf(self._session, settings):
            self._session.sql(f"VACUUM {self.sql_name} RETAIN {hours:.4f} HOURS")
        (ended,) = self._session.sql(f"DESCRIBE HISTORY {self.sql_name} LIMIT 1").collect()
        return {"files_removed": int(ended["operationMetrics"].get("numDeletedFiles", 0))}

    def _restated(self) -> dict[str, str]:
        """The setting that repeats the latest position in a maintenance commit.

        Delta removes old entries of its history, so the newest commits must contain the position.
        """
        position = newest_position(read_recent_commits(self))
        return {} if position is None else {_METADATA: position.to_json()}

    def _reader(self) -> DataFrameReader:
        return self._session.read.format("delta")


def _is_same(one: Commit, other: Commit) -> bool:
    """Whether both are the same commit. The history and the log may report different times."""
    return (one.operation, one.position) == (other.operation, other.position)


def _transaction(position: CommitPosition) -> dict[str, str]:
    """The settings of a commit. Delta skips a commit whose number it has already committed."""
    return {
        _METADATA: position.to_json(),
        f"{_TXN}AppId": f"{position.app}/{position.table_id}",
        f"{_TXN}Version": str(position.number),
    }

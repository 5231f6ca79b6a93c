"""Compares a typed table with the version store, at the position that its last commit names.

The job compares the live table with the same store. Both results together compare the typed table
with the live one, and show which step lost a change.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructField, StructType

from sidecar.errors import ConfigError
from spark_jobs.column_names import ROW_ID
from spark_jobs.compare.differences import example_rows
from spark_jobs.compare.progress import WaitBudget
from spark_jobs.compare.report import DifferingRow, TargetCause, TargetReport
from spark_jobs.compare.row_difference import CauseOfDifference, ReadTimes
from spark_jobs.compare.target_rows import (
    bucket_digests,
    differences,
    in_buckets,
    later_changes,
    later_expiries,
    shown_rows,
    typed_rows,
)
from spark_jobs.follow import Position, changes_between
from spark_jobs.reconcile.source_table import SourceSchema, SourceTable
from spark_jobs.reconcile.store import VersionStore
from spark_jobs.reconcile.visible_rows import merger_of
from spark_jobs.tables.columns import Columns, nullable
from spark_jobs.tables.commit_position import CommitPosition, progress
from spark_jobs.tables.format.typed_table import complete_version, recent_commits
from spark_jobs.tables.options import TargetOptions
from spark_jobs.tables.target import existing_table, require_owner


@dataclass(frozen=True, slots=True)
class _State:
    """What readers of the typed table see."""

    version: int
    position: CommitPosition
    columns: Columns

    @property
    def at(self) -> Position:
        return Position(self.position.store_version, self.position.second)


class TargetComparison:
    """Compares one typed table. `place` is a folder for the rows that differ."""

    def __init__(
        self,
        options: TargetOptions,
        schema: SourceSchema,
        table: SourceTable,
        store: VersionStore,
        *,
        buckets: int,
        place: str,
        describe: Callable[[str], AbstractContextManager[None]],
    ) -> None:
        """Raises `ConfigError`, or `TargetError` if another store fills the typed table."""
        self._target = existing_table(store.session, options, table.full_name)
        require_owner(self._target, store.id, table.id)
        self._schema = schema
        self._table = table
        self._store = store
        self._buckets = buckets
        self._place = place
        self._describe = describe

    def report(
        self, version: int, reads: ReadTimes, wait_budget: WaitBudget, rows: int
    ) -> TargetReport:
        """Compare. Wait for changes of the store from before the reads.

        `version` is the version of the store with which the live table was compared. The report has
        up to `rows` rows of each cause.
        """
        last: tuple[CommitPosition, TargetReport] | None = None

        def observe() -> TargetReport:
            nonlocal last
            state = self._state()
            if last is None or last[0] != state.position:
                last = state.position, self._report(state, version, reads, rows)
            return last[1]

        return wait_budget.until(observe, lambda report: report.verdict != "not_there_yet")

    def _report(self, state: _State, version: int, reads: ReadTimes, limit: int) -> TargetReport:
        kind = StructType([StructField(name, each) for name, each in state.columns.items()])
        shown = shown_rows(self._changes(None, state.at), state.columns)
        typed = typed_rows(self._target.read(state.version), state.columns)
        with self._describe("digests of the store at the position of the typed table"):
            ours = bucket_digests(shown, self._buckets, kind)
        with self._describe("digests of the typed table"):
            theirs = bucket_digests(typed, self._buckets, kind)
        differing = [
            number
            for number in ours.keys() | theirs.keys()
            if ours.get(number) != theirs.get(number)
        ]
        expiries_s = [
            each.next_expiry_s for each in ours.values() if each.next_expiry_s is not None
        ]
        found = self._later(state, version, reads, shown, min(expiries_s, default=None))
        if differing:
            sides = [in_buckets(each, self._buckets, differing) for each in (shown, typed)]
            found.append(differences(sides[0], sides[1], kind, self._keys(state)))
        causes: dict[CauseOfDifference, int] = {}
        rows: list[DifferingRow] = []
        if found:
            every = reduce(DataFrame.unionByName, found)
            with self._describe("rows of the typed table that differ"):
                every.write.mode("overwrite").parquet(self._place)
            stored = self._store.session.read.parquet(self._place)
            causes, rows = example_rows(stored, TargetCause, limit)
        return TargetReport(
            self._target.sql_name,
            state.version,
            state.at.store_version,
            state.at.second,
            state.position.offsets,
            sum(each.rows for each in theirs.values()),
            causes,
            rows,
        )

    def _later(
        self,
        state: _State,
        version: int,
        reads: ReadTimes,
        shown: DataFrame,
        next_expiry_s: int | None,
    ) -> list[DataFrame]:
        """The rows that changed in the store after the position of the typed table."""
        second = max(reads.to_us // 1_000_000, state.at.second)
        keys = self._keys(state)
        found = []
        if version > state.at.store_version:
            changes = self._changes(state.at, Position(version, second))
            found.append(later_changes(changes, reads.from_us, keys))
        if next_expiry_s is not None and next_expiry_s <= second:
            expired = later_expiries(shown, second, reads.from_us, keys)
            for changed in tuple(found):
                expired = expired.join(changed.select(ROW_ID), ROW_ID, "left_anti")
            found.append(expired)
        return found

    def _keys(self, state: _State) -> list[str]:
        return [name for name in state.columns if name not in self._table.columns]

    def _changes(self, before: Position | None, after: Position) -> DataFrame:
        return changes_between(self._store, self._schema, self._table, before, after, each=False)

    def _state(self) -> _State:
        commits = recent_commits(self._target)
        position = progress(commit.position for commit in commits).complete
        if position is None:
            raise ConfigError(
                f"{self._target.sql_name} has no complete batch of spark_jobs.tables in its "
                "history. Run spark_jobs.tables first, or set another `target`."
            )
        merger = merger_of(self._schema, self._table)
        wanted = nullable(from_arrow_schema(merger.typed_schema))
        wanted.pop(ROW_ID)
        columns = self._target.columns()
        other = sorted(wanted.keys() ^ columns.keys())
        if other:
            raise ConfigError(
                f"{self._target.sql_name} and `schema.file` differ in columns: {', '.join(other)}. "
                "Use the schema with which spark_jobs.tables runs."
            )
        return _State(complete_version(commits), position, columns)

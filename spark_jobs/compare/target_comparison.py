"""Compares a typed table with the version store, at the position in the table's latest commit.

The job also compares the live table with this store. Together, both results compare the typed table
with the live table, and show which step lost a change.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from sidecar.errors import ConfigError
from spark_jobs.column_names import ROW_ID
from spark_jobs.compare.differences import findings
from spark_jobs.compare.digests import digests
from spark_jobs.compare.progress import WaitBudget
from spark_jobs.compare.report import Findings, TargetCause, TargetReport
from spark_jobs.compare.row_difference import ReadTimes
from spark_jobs.follow import Position, changes_between
from spark_jobs.follow.comparison import comparable
from spark_jobs.reconcile.source_table import SourceSchema, SourceTable
from spark_jobs.reconcile.store import VersionStore
from spark_jobs.reconcile.visible_rows import merger_of, typed_row
from spark_jobs.tables.columns import Columns, quoted
from spark_jobs.tables.commit_position import CommitPosition, progress
from spark_jobs.tables.format.typed_table import complete_version, read_recent_commits
from spark_jobs.tables.options import TargetOptions
from spark_jobs.tables.target import open_existing_table, require_owner


@dataclass(frozen=True, slots=True)
class BucketDigest:
    rows: int
    hash: int
    next_expiry_s: int | None = field(default=None, compare=False)


def shown_rows(changes: DataFrame, columns: Columns) -> DataFrame:
    """Select `cdc_row_id`, `row`, `token` and `next_expiry_s` from a first fill's changes."""
    after = F.col("after")
    row = F.struct(*(after[name].cast(kind).alias(name) for name, kind in columns.items()))
    return changes.where(F.col("op").isNotNull() & after.isNotNull()).select(
        ROW_ID, row.alias("row"), "token", "next_expiry_s"
    )


def typed_rows(table: DataFrame, columns: Columns) -> DataFrame:
    """Select the columns of `shown_rows` from a typed table, which has no tokens or expiries."""
    return table.select(
        ROW_ID,
        F.struct(*(F.col(quoted(name)) for name in columns)).alias("row"),
        *(F.lit(None).cast("long").alias(name) for name in ("token", "next_expiry_s")),
    )


def bucket_digests(rows: DataFrame, buckets: int, kind: StructType) -> dict[int, BucketDigest]:
    """The digests of nonempty buckets, by number."""
    hashed = F.xxhash64(ROW_ID, comparable(F.col("row"), kind))
    found = digests(rows, _bucket(buckets), hashed, F.col("next_expiry_s"))
    return {number: BucketDigest(*digest) for number, *digest in found}


def differences(
    shown: DataFrame, typed: DataFrame, kind: StructType, keys: Sequence[str]
) -> DataFrame:
    """The rows that differ, as findings: `cause`, `key`, `columns`, `token` and `cdc_row_id`.

    `token` is null if the store does not show the row.
    """
    typed = typed.groupBy(ROW_ID).agg(F.first("row").alias("row"), F.count(F.lit(1)).alias("times"))
    shown = shown.select(ROW_ID, "row", "token")
    both = shown.alias("s").join(typed.alias("t"), ROW_ID, "full")
    ours, theirs = F.col("s.row"), F.col("t.row")
    others = {
        each.name: ~comparable(ours[each.name], each.dataType).eqNullSafe(
            comparable(theirs[each.name], each.dataType)
        )
        for each in kind.fields
    }
    cause = (
        F.when(theirs.isNull(), TargetCause.MISSING_ROW.value)
        .when(ours.isNull(), TargetCause.EXTRA_ROW.value)
        .when(F.col("times") > 1, TargetCause.REPEATED_ROW.value)
        .when(reduce(or_, others.values()), TargetCause.OTHER_VALUE.value)
    )
    names = F.array_compact(F.array(*(F.when(is_other, name) for name, is_other in others.items())))
    is_other = cause == TargetCause.OTHER_VALUE.value
    return both.select(
        cause.alias("cause"),
        key_text(F.coalesce(ours, theirs), keys).alias("key"),
        F.when(is_other, F.array_join(names, ", ")).otherwise("").alias("columns"),
        "token",
        ROW_ID,
    ).where(F.col("cause").isNotNull())


def later_changes(changes: DataFrame, read_from_us: int, keys: Sequence[str]) -> DataFrame:
    """The rows that the store changed after the position of a typed table, as findings. `changes`
    has the columns of `Merger.changes`."""
    cause = (
        F.when(F.col("ts_us") < read_from_us, TargetCause.NOT_THERE_YET.value)
        .when(F.col("cause") == "expiry", TargetCause.EXPIRED.value)
        .otherwise(TargetCause.WRITTEN_AFTER.value)
    )
    return changes.where(F.col("op").isNotNull()).select(
        cause.alias("cause"),
        key_text(F.coalesce("after", "before"), keys).alias("key"),
        F.concat(F.lit("op "), "op", F.lit(", written at "), F.col("ts_us")).alias("columns"),
        "token",
        ROW_ID,
    )


def later_expiries(
    shown: DataFrame, second: int, read_from_us: int, keys: Sequence[str]
) -> DataFrame:
    """The rows with a value that expired after the position, up to `second`, as findings."""
    is_earlier = F.col("next_expiry_s") * 1_000_000 < read_from_us
    cause = F.when(is_earlier, TargetCause.NOT_THERE_YET.value).otherwise(TargetCause.EXPIRED.value)
    return shown.where(F.col("next_expiry_s") <= second).select(
        cause.alias("cause"),
        key_text(F.col("row"), keys).alias("key"),
        F.concat(F.lit("expired at second "), F.col("next_expiry_s")).alias("columns"),
        "token",
        ROW_ID,
    )


def key_text(row: Column, keys: Sequence[str]) -> Column:
    """The primary key as JSON."""
    return F.to_json(F.struct(*(row[name].alias(name) for name in keys)))


def _bucket(buckets: int) -> Column:
    return F.pmod(F.xxhash64(ROW_ID), F.lit(buckets)).cast("int")


@dataclass(frozen=True, slots=True)
class _State:
    """What readers of the typed table see."""

    version: int
    position: CommitPosition
    columns: Columns


class TargetComparison:
    """Compares one typed table. `place` is a folder for the differing rows."""

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
        self._target = open_existing_table(store.session, options, table.full_name)
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
        """Compare, and wait until the typed table contains the store's changes before the reads.

        `version` is the store version that was compared with the live table. The report contains
        up to `rows` rows of each cause.
        """
        last: tuple[CommitPosition, TargetReport] | None = None

        def observe() -> TargetReport:
            nonlocal last
            state = self._state()
            if last is None or last[0] != state.position:
                last = state.position, self._report(state, version, reads, rows)
            return last[1]

        return wait_budget.until(observe, lambda report: report.found.verdict != "not_there_yet")

    def _report(self, state: _State, version: int, reads: ReadTimes, limit: int) -> TargetReport:
        kind = StructType([StructField(name, each) for name, each in state.columns.items()])
        shown = shown_rows(self._changes(None, state.position.followed), state.columns)
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
        differing_rows = self._later(state, version, reads, shown, min(expiries_s, default=None))
        if differing:
            is_differing = _bucket(self._buckets).isin(*sorted(differing))
            sides = [each.where(is_differing) for each in (shown, typed)]
            differing_rows.append(differences(sides[0], sides[1], kind, self._table.key))
        found = Findings()
        if differing_rows:
            every = reduce(DataFrame.unionByName, differing_rows)
            with self._describe("rows of the typed table that differ"):
                every.write.mode("overwrite").parquet(self._place)
            stored = self._store.session.read.parquet(self._place)
            found = findings(stored, TargetCause, limit)
        return TargetReport(
            self._target.sql_name,
            state.version,
            state.position.store_version,
            state.position.second,
            state.position.offsets,
            sum(each.rows for each in theirs.values()),
            found,
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
        second = max(reads.to_us // 1_000_000, state.position.second)
        keys = self._table.key
        found = []
        if version > state.position.store_version:
            changes = self._changes(state.position.followed, Position(version, second))
            found.append(later_changes(changes, reads.from_us, keys))
        if next_expiry_s is not None and next_expiry_s <= second:
            expired = later_expiries(shown, second, reads.from_us, keys)
            for changed in tuple(found):
                expired = expired.join(changed.select(ROW_ID), ROW_ID, "left_anti")
            found.append(expired)
        return found

    def _changes(self, before: Position | None, after: Position) -> DataFrame:
        return changes_between(self._store, self._schema, self._table, before, after, each=False)

    def _state(self) -> _State:
        commits = read_recent_commits(self._target)
        position = progress(commit.position for commit in commits).complete
        if position is None:
            raise ConfigError(
                f"{self._target.sql_name} has no complete batch of spark_jobs.tables in its "
                "history. Run spark_jobs.tables first, or set a different `target`."
            )
        wanted = typed_row(merger_of(self._schema, self._table)).names
        columns = self._target.columns()
        other = sorted(columns.keys() ^ wanted)
        if other:
            raise ConfigError(
                f"{self._target.sql_name} and `schema.file` differ in columns: {', '.join(other)}. "
                "Use the schema that spark_jobs.tables uses."
            )
        return _State(complete_version(commits), position, columns)

"""Reads the rows to merge from the version store and from archived segments."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from spark_jobs.rebuild.options import SourceOptions
from spark_jobs.rebuild.window import (
    StoreCommit,
    StoreRead,
    Window,
    plan_store_read,
    require_complete,
)
from spark_jobs.reconcile.source_table import SourceSchema, SourceTable
from spark_jobs.reconcile.store import VersionStore
from spark_jobs.reconcile.store.version_store import MERGED, open_existing_store
from spark_jobs.source.events import read_cells
from spark_jobs.source.segments import (
    ArchivedSegments,
    SegmentDecoder,
    UnreadRange,
    find_segments,
    unread_ranges,
)


@dataclass(frozen=True, slots=True)
class Sources:
    """The rows of one table, and their origin."""

    rows: DataFrame
    """`token`, `event`, `state`: every write that the window admits, and possibly others."""
    truncations_us: Sequence[int]
    store_read: StoreRead | None
    segments: ArchivedSegments | None
    observation: Observation | None = field(repr=False)

    def unread(self) -> Sequence[UnreadRange]:
        """The ranges of segments that could not be read. Read the rows first."""
        return () if self.observation is None else unread_ranges(self.observation)


def open_sources(
    session: SparkSession,
    options: SourceOptions,
    schema: SourceSchema,
    table: SourceTable,
    window: Window,
) -> Sources:
    """Open the sources. Raises `ConfigError` for a missing one, `JobError` for missing writes."""
    store = None
    if options.output is not None:
        store = open_existing_store(session, options.output, options.buckets)
    segments = None
    if options.segments is not None:
        segments = find_segments(session, options.segments)
    commits = () if store is None else _read_commits(store)
    read = None
    if options.store_version is not None:
        read = StoreRead(base=options.store_version)
    elif store is not None:
        read = plan_store_read(
            commits, window.complete_to_us, now_us=window.now_us, history_s=options.history_s
        )
    if not options.accepts_incomplete:
        require_complete(
            table.full_name,
            table.id,
            window.complete_to_us,
            has_store=store is not None,
            store_read=read,
            commits=commits,
            oldest_segment_ms=None if segments is None else segments.oldest_ms,
        )
    parts: list[DataFrame] = []
    if store is not None:
        parts += _stored(store, table, read)
    observation = None
    if segments is not None:
        stored_schema = schema.schema.to_stored()
        decoder = SegmentDecoder(stored_schema, table.id, table.full_name, options.keys())
        events, observation = segments.events(decoder)
        parts.append(_of_table(events, table))
    rows = reduce(DataFrame.unionByName, parts)
    truncations = () if store is None else store.truncations_us(table.id)
    return Sources(rows, truncations, read, segments, observation)


def _read_commits(store: VersionStore) -> tuple[StoreCommit, ...]:
    history = DeltaTable.forPath(store.session, store.path).history()
    rows = history.select("version", F.unix_micros("timestamp").alias("at")).collect()
    return tuple(StoreCommit(row["version"], row["at"]) for row in rows)


def _stored(store: VersionStore, table: SourceTable, read: StoreRead | None) -> list[DataFrame]:
    latest = store.version()
    if read is None or read.with_history:
        return [store.levels(table.id, latest).select(*MERGED)]
    if read.base is None:
        return [store.added(table.id, -1, latest).select(*MERGED)]
    base = store.levels(table.id, read.base).select(*MERGED)
    if read.base == latest:
        return [base]
    return [base, store.added(table.id, read.base, latest).select(*MERGED)]


def _of_table(events: DataFrame, table: SourceTable) -> DataFrame:
    """Convert decoded events to rows of the store, except events of other tables of that name."""
    cells = read_cells(events).where(F.col("table") == table.id)
    return cells.select("token", "event", F.lit(None).cast("binary").alias("state"))

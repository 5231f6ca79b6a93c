"""Publishes the changes that a follower reads, and finishes a batch that a crash interrupted."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import DataFrame

from spark_jobs.changes.journal import BatchJournal, BegunBatch
from spark_jobs.follow import InterruptedBatch, Position
from spark_jobs.reconcile.source_table import SourceTable
from spark_jobs.reconcile.store import Offsets
from spark_jobs.session_conf import job_description


class ChangeSink(Protocol):
    """A target of the changes of one table."""

    def end_offsets(self) -> dict[int, int]:
        """The end offsets of a topic before a batch; empty for other targets."""

    def write(self, changes: DataFrame, batch: BegunBatch, *, is_resumed: bool) -> None:
        """Write the changes of a batch. A resumed batch may be there in whole or in part."""


@dataclass(frozen=True, slots=True)
class PublishedStream:
    """The changes of one table: what is published, and where to."""

    journal: BatchJournal
    sinks: tuple[ChangeSink, ...]
    """Written in this order."""


class ChangesHandler:
    """A handler of the follower that publishes each change."""

    each = True

    def __init__(
        self,
        open_stream: Callable[[SourceTable], PublishedStream],
        *,
        has_snapshot: bool,
    ) -> None:
        """`open_stream` is called once for each table. With `has_snapshot` the first batch has
        the rows that exist."""
        self.has_snapshot = has_snapshot
        self._open_stream = open_stream
        self._streams: dict[str, PublishedStream] = {}

    def interrupted(self, table: SourceTable) -> InterruptedBatch | None:
        """The batch of the journal that is begun and not finished."""
        begun = self._stream(table).journal.begun
        return None if begun is None else InterruptedBatch(begun.before, begun.after)

    def finish(self, table: SourceTable, changes: DataFrame, counts: Mapping[str, int]) -> None:
        """Publish what the sinks do not have yet."""
        stream = self._stream(table)
        begun = stream.journal.begun
        assert begun is not None
        self._write(table, stream, changes, begun, is_resumed=True)

    def position(self, table: SourceTable) -> Position | None:
        """The position up to which every change is published."""
        return self._stream(table).journal.position

    def apply(
        self,
        table: SourceTable,
        changes: DataFrame,
        counts: Mapping[str, int],
        before: Position | None,
        after: Position,
        offsets: Offsets,
    ) -> None:
        """Publish the changes between two positions."""
        stream = self._stream(table)
        if before is None and not self.has_snapshot:
            stream.journal.skip_to(after)
            return
        ends: dict[int, int] = {}
        for sink in stream.sinks:
            ends |= sink.end_offsets()
        batch = stream.journal.begin(before, after, ends, offsets)
        self._write(table, stream, changes, batch, is_resumed=False)

    def _stream(self, table: SourceTable) -> PublishedStream:
        if table.id not in self._streams:
            self._streams[table.id] = self._open_stream(table)
        return self._streams[table.id]

    def _write(
        self,
        table: SourceTable,
        stream: PublishedStream,
        changes: DataFrame,
        batch: BegunBatch,
        *,
        is_resumed: bool,
    ) -> None:
        what = f"changes: {table.full_name}, publish those up to {batch.after}"
        with job_description(changes.sparkSession, what):
            for sink in stream.sinks:
                sink.write(changes, batch, is_resumed=is_resumed)
        stream.journal.finish(batch)

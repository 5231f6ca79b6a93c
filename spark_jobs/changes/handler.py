"""Publishes the changes that a follower reads, and completes a batch that a crash interrupted."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field

from pydantic import TypeAdapter
from pyspark.sql import DataFrame

from spark_jobs.follow import InterruptedBatch, Position
from spark_jobs.reconcile.source_table import SourceTable
from spark_jobs.reconcile.store import Offsets
from spark_jobs.session_conf import job_description
from spark_jobs.storage import Folder

FILE = "batches.json"


@dataclass(frozen=True, slots=True)
class BegunBatch:
    """A batch whose messages may have been sent only in part."""

    number: int
    """The number of the batch in its table, from 1."""
    before: Position | None
    """None for the first batch, which contains the existing rows."""
    after: Position
    end_offsets: Mapping[int, int]
    """End offsets of the topic before the first message of the batch, by partition."""
    offsets: Offsets = field(default_factory=dict)
    """Offsets up to which the store, at `after`, has read the agents' topics."""


@dataclass(frozen=True, slots=True)
class _Entry:
    number: int = 0
    position: Position | None = None
    begun: BegunBatch | None = None


_ENTRY = TypeAdapter(_Entry)


class BatchJournal:
    """The journal of one table, in a small checkpoint file. Only one process may use it.

    Before it sends a batch, the job records the batch and the end offsets of its topic. After a
    crash, it reads the same batch again and skips the messages found after these offsets.
    """

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._last = _ENTRY.validate_json(folder.read_text(FILE, "{}"))

    @property
    def position(self) -> Position | None:
        """The position up to which every change is published; None before the first batch."""
        return self._last.position

    @property
    def begun(self) -> BegunBatch | None:
        """The batch that was begun but not finished; None if there is none."""
        return self._last.begun

    def begin(
        self,
        before: Position | None,
        after: Position,
        end_offsets: Mapping[int, int],
        offsets: Offsets | None = None,
    ) -> BegunBatch:
        """Record a new batch durably."""
        last = self._last
        assert last.begun is None, "the last batch is not finished"
        batch = BegunBatch(last.number + 1, before, after, dict(end_offsets), offsets or {})
        self._write(last.number, last.position, batch)
        return batch

    def finish(self, batch: BegunBatch) -> None:
        """Record that every change of a batch is published."""
        self._write(batch.number, batch.after, None)

    def skip_to(self, position: Position) -> None:
        """Record a position without a batch."""
        self._write(self._last.number, position, None)

    def _write(self, number: int, position: Position | None, begun: BegunBatch | None) -> None:
        entry = _Entry(number, position, begun)
        self._folder.write_text(FILE, json.dumps(asdict(entry), indent=2) + "\n")
        self._last = entry


class ChangeSink(ABC):
    def end_offsets(self) -> dict[int, int]:
        """The current end offsets of the target topic; empty for other targets."""
        return {}

    @abstractmethod
    def write(self, changes: DataFrame, batch: BegunBatch, *, is_resumed: bool) -> None:
        """Write a batch. The target may already contain a resumed batch, in whole or in part."""


@dataclass(frozen=True, slots=True)
class PublishedStream:
    journal: BatchJournal
    sinks: tuple[ChangeSink, ...]
    """Written in this order."""


class ChangesHandler:
    each = True

    def __init__(
        self, open_stream: Callable[[SourceTable], PublishedStream], *, has_snapshot: bool
    ) -> None:
        """`open_stream` is called once per table. With `has_snapshot`, the first batch contains
        the existing rows."""
        self.has_snapshot = has_snapshot
        self._open_stream = open_stream
        self._streams: dict[str, PublishedStream] = {}

    def interrupted(self, table: SourceTable) -> InterruptedBatch | None:
        begun = self._stream(table).journal.begun
        return None if begun is None else InterruptedBatch(begun.before, begun.after)

    def finish(self, table: SourceTable, changes: DataFrame, counts: Mapping[str, int]) -> None:
        """Publish the changes of the interrupted batch that the sinks do not have yet."""
        stream = self._stream(table)
        begun = stream.journal.begun
        assert begun is not None
        self._write(table, stream, changes, begun, is_resumed=True)

    def position(self, table: SourceTable) -> Position | None:
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
        what = f"changes: {table.full_name}, publish changes up to {batch.after}"
        with job_description(changes.sparkSession, what):
            for sink in stream.sinks:
                sink.write(changes, batch, is_resumed=is_resumed)
        stream.journal.finish(batch)

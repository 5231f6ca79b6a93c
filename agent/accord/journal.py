"""Reads the Accord journal, and writes its changes to `cdc_raw` as segments.

The agent syncs a segment in `cdc_raw` before it stores the journal position that follows its
entries. After a crash in between, it writes the changes to a new segment, with the same event ids.
"""

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from agent.accord.position import JournalPosition, gap_at_start, gap_while_running
from agent.accord.segments import (
    JournalFiles,
    JournalSegment,
    OpenSegments,
    RawSegments,
    observe_journal,
)
from agent.cdc_raw.names import SegmentName
from agent.quarantine.files import LostRange
from commitlog import AccordRead, AccordReader, ColumnIds, Schema
from sidecar.errors import OffsetSaveError
from sidecar.health.condition import Condition, Rank, State
from sidecar.logs import RateLimitedLog, fields
from sidecar.quantities import duration_text


@dataclass(frozen=True, slots=True)
class AccordView:
    error: str = ""
    """Why the journal cannot be read; empty if it is readable."""
    blocked: str = ""
    """What blocks reading, such as an unknown column; empty if nothing does."""
    blocked_s: float = 0.0
    waiting: int = 0
    """Number of transactions that the journal does not yet record as applied."""
    oldest_s: float = 0.0
    """Age of the oldest waiting transaction in seconds."""

    def conditions(self) -> Iterator[Condition]:
        if self.error:
            yield Condition(
                "accord_journal_unreadable",
                State.DEGRADED,
                "cdc_raw",
                f"Transactions are not captured: {self.error}",
                "Correct accord.journal.directory, and let the agent's user read the journal and "
                "write to cdc_raw. Changes that the node deletes meanwhile are lost.",
                rank=Rank.LOSS,
            )
        elif self.blocked and self.blocked_s >= _PATIENCE_S:
            yield Condition(
                "accord_transaction_blocked",
                State.DEGRADED,
                "cdc_raw",
                "The next transaction has been blocked for "
                f"{duration_text(self.blocked_s)}: {self.blocked}",
                "Let the agent read the node's schema and system.local_metadata_log. After "
                "segment.blocked.timeout.ms the agent records the transaction's changes as lost.",
                rank=Rank.LATE,
            )
        elif self.waiting and self.oldest_s >= _WAITING_S:
            yield Condition(
                "accord_transactions_waiting",
                State.DEGRADED,
                "cdc_raw",
                f"The node has not applied {self.waiting} transactions; the oldest began "
                f"{duration_text(self.oldest_s)} ago.",
                "Check the other replicas: the node needs them to decide pending transactions.",
                rank=Rank.LATE,
            )


logger = logging.getLogger(__name__)

_PATIENCE_S = 10.0
"""Longer than the agent usually takes to learn of a new table."""
_WAITING_S = 300.0

_INTERVAL_S = 1.0
_CHUNK_BYTES = 4 << 20
_BATCH_BYTES = 1 << 20
_BATCHES_OF_A_TICK = 4


@dataclass(frozen=True, slots=True)
class JournalParts:
    """Callbacks of the journal's reader into other parts of the agent."""

    schema: Callable[[], Schema | None]
    refresh_schema: Callable[[str], bool]
    column_ids: Callable[[], ColumnIds | None]
    request_column_ids: Callable[[], None]
    save: Callable[[JournalPosition], None]
    """Stores the position durably. Raises OffsetSaveError."""
    clock: Callable[[], float]


class AccordJournal:
    """Reads the journal in ticks. Only the pipeline's thread may use it."""

    def __init__(
        self,
        directory: Path,
        raw_directory: Path,
        position: JournalPosition,
        blocked_timeout_s: float,
        parts: JournalParts,
    ) -> None:
        self._directory = directory
        self._raw = RawSegments(raw_directory, position.next_id, self._reserve)
        self._position = position
        self._stored = position
        self._blocked_timeout_s = blocked_timeout_s
        self._parts = parts
        self.record: Callable[[SegmentName, LostRange], bool] = lambda name, lost: False
        """Records lost changes in the quarantine; returns False if the caller must retry later. The
        pipeline sets it."""
        self._open = OpenSegments(directory)
        self._reader = AccordReader(position.transactions)
        self._next_s = parts.clock()
        self._is_first = True
        self._unwritten: AccordRead | None = None
        self._gaps: list[LostRange] = []
        self._passed_over: dict[str, SegmentName] = {}
        self._error = ""
        self._obstacle: tuple[str, float] | None = None
        self._repeated = RateLimitedLog(logger)

    @property
    def due_in_s(self) -> float:
        return max(0.0, self._next_s - self._parts.clock())

    @property
    def view(self) -> AccordView:
        count, oldest_us = self._reader.waiting
        oldest_s = 0.0 if oldest_us is None else max(0.0, time.time() - oldest_us / 1_000_000)
        blocked, blocked_s = "", 0.0
        if self._obstacle is not None:
            blocked, since_s = self._obstacle
            blocked_s = self._parts.clock() - since_s
        return AccordView(self._error, blocked, blocked_s, count, oldest_s)

    def tick(self) -> bool:
        """Reads new journal entries; returns True if it wrote a segment to `cdc_raw`."""
        if self.due_in_s > 0:
            return False
        self._next_s = self._parts.clock() + _INTERVAL_S
        try:
            return self._advance()
        except OSError as error:
            self._fail(f"{error.filename or self._directory}: {error.strerror or error}.")
        except OffsetSaveError as error:
            self._fail(str(error))
        return False

    def close(self) -> None:
        self._open.close()

    def _advance(self) -> bool:
        files = observe_journal(self._directory)
        self._find_gaps(files)
        if not self._record_gaps():
            return False
        self._error = ""
        schema, ids = self._parts.schema(), self._parts.column_ids()
        if schema is None or ids is None:
            self._block("the node has not reported its schema and column ids yet.", bounded=False)
            return False
        has_written = False
        for _ in range(_BATCHES_OF_A_TICK):
            if not self._is_at_segment():
                break
            # The reader cannot read entries twice, so repeat a failed write first.
            read = self._unwritten or self._read(schema, ids)
            self._unwritten = read
            if read.mutations:
                name = self._raw.take()
                self._raw.write(name, read.segment(name.id))
                has_written = True
            self._unwritten = None
            self._move(read.offset)
            if not self._continue_after(read, files):
                break
        self._save()
        return has_written

    def _find_gaps(self, files: JournalFiles) -> None:
        newest = self._open.newest
        if self._is_first:
            self._is_first = False
            self._note_gap(gap_at_start(self._position, files))
        for found in self._open.open_new(files, self._position.segment):
            if newest is not None:
                self._note_gap(gap_while_running(newest, found, files))
            newest = found

    def _note_gap(self, cause: str) -> None:
        if cause:
            self._gaps.append(LostRange(0, None, cause))

    def _record_gaps(self) -> bool:
        """Records each gap in the quarantine under a new id; returns False to retry later."""
        while self._gaps:
            if not self.record(self._raw.take(), self._gaps[0]):
                return False
            del self._gaps[0]
        return True

    def _is_at_segment(self) -> bool:
        """Moves to the oldest open segment at or after the position; returns False if it cannot."""
        position = self._position
        segment = self._open.first_from(position.segment)
        if segment is None:
            return False
        if not segment.is_supported:
            self._fail(f"{segment} has a version of the journal that this release cannot read.")
            return False
        if segment != position.segment:
            self._position = replace(position, segment=segment, offset=0)
        return True

    @property
    def _segment(self) -> JournalSegment:
        assert self._position.segment is not None
        return self._position.segment

    def _data(self, length: int = _CHUNK_BYTES) -> bytes:
        return self._open.read(self._segment, self._position.offset, length)

    def _read(self, schema: Schema, ids: ColumnIds) -> AccordRead:
        offset = self._position.offset
        read = self._reader.read(self._data(), offset, schema, ids, _BATCH_BYTES)
        if read.stop == "needs_bytes" and read.end is not None and not read.mutations:
            # An entry can be larger than a chunk.
            self._move(read.offset)
            data = self._data(read.end - read.offset + _CHUNK_BYTES)
            return self._reader.read(data, read.offset, schema, ids, _BATCH_BYTES)
        return read

    def _move(self, offset: int) -> None:
        if offset != self._position.offset:
            self._obstacle = None
            self._position = replace(self._position, offset=offset)

    def _continue_after(self, read: AccordRead, files: JournalFiles) -> bool:
        """Handles the reason why a read stopped; returns True to continue in this tick."""
        is_closed = self._segment in files.closed or self._open.is_deleted(self._segment)
        match read.stop:
            case "full":
                return True
            case "needs_bytes" if read.mutations:
                return True
            case "blocked":
                return self._abandon(f"{read.error}.")
            case "undecodable":
                return self._pass_over(f"an entry cannot be decoded: {read.error}")
            case "unwritten" if is_closed:
                return self._next_segment()
            case "needs_bytes" | "incomplete" if is_closed:
                # Cassandra's own reader also stops here: a crash interrupted the write.
                logger.warning(
                    "the last entry of a closed segment of the Accord journal is incomplete",
                    extra=fields(segment=self._segment, offset=self._position.offset),
                )
                return self._next_segment()
            case _:
                return False

    def _next_segment(self) -> bool:
        following = self._open.after(self._segment)
        if following is None:
            return False
        self._position = replace(self._position, segment=following, offset=0)
        self._open.close_before(following)
        return True

    def _block(self, message: str, *, bounded: bool) -> bool:
        """Notes an obstacle; returns True once a bounded obstacle has lasted for the timeout."""
        now_s = self._parts.clock()
        since_s = now_s if self._obstacle is None else self._obstacle[1]
        self._obstacle = message, since_s
        self._repeated.log("blocked", "reading the Accord journal is blocked", reason=message)
        return bounded and now_s - since_s >= self._blocked_timeout_s

    def _abandon(self, message: str) -> bool:
        """Requests a newer schema, and skips the entry after the timeout. Skips later entries with
        the same cause at once."""
        cause = f"transactions were abandoned: {message}"
        if cause not in self._passed_over and not self._block(message, bounded=True):
            self._parts.request_column_ids()
            self._parts.refresh_schema(message)
            return False
        return self._pass_over(cause)

    def _pass_over(self, cause: str) -> bool:
        """Records the next entry as lost, under one segment name per cause, and skips it."""
        offset = self._position.offset
        # An entry begins with the offset of its end.
        end = int.from_bytes(self._data(4), "big")
        if cause not in self._passed_over:
            self._passed_over[cause] = self._raw.take()
        lost = LostRange(offset, end, f"{self._segment}: {cause}")
        # Recorded first: `skip` forgets the transaction, and a retry would then accept the entry.
        if not self.record(self._passed_over[cause], lost):
            return False
        following = self._reader.skip(self._data(end - offset), offset)
        if following is None:
            return False
        self._move(following)
        return True

    def _reserve(self, next_id: int) -> None:
        self._stored = replace(self._stored, next_id=next_id)
        self._parts.save(self._stored)

    def _save(self) -> None:
        position = replace(
            self._position,
            next_id=self._raw.reserved,
            transactions=bytes(self._reader.to_stored()),
        )
        if position != self._stored:
            self._parts.save(position)
            self._stored = position

    def _fail(self, message: str) -> None:
        self._error = message
        self._repeated.log("failed", "the Accord journal cannot be read", reason=message)

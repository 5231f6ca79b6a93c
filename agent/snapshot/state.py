"""State shared by the snapshot thread, the pipeline and the HTTP server. All methods are atomic."""

import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from agent.snapshot.offsets import SnapshotOffsets, State, TableSnapshot
from agent.snapshot.plan import EncodedPage, SnapshotPartition
from agent.snapshot.range_reader import token_at
from agent.snapshot.ring import TokenRange

_MAX_READY_PAGES = 2


@dataclass(frozen=True, slots=True)
class NextRead:
    table: TableSnapshot
    range: TokenRange
    start: int
    epoch: int
    """Pages of an older epoch are dropped."""

    @property
    def reader_key(self) -> tuple[str, TokenRange, int]:
        """A reader is used until its range is read or the epoch ends."""
        return self.table.table_id, self.range, self.epoch


class SnapshotState:
    """Offsets, ready pages, and the position up to which each range is read."""

    def __init__(self, offsets: SnapshotOffsets) -> None:
        self._changed = threading.Condition()
        self._offsets = offsets
        self._ready: deque[EncodedPage] = deque()
        self._read: dict[tuple[str, TokenRange], int] = {}
        self._epoch = 0
        self.error = ""
        """Why the snapshot does not progress; empty if it progresses."""
        self.counter_tables = 0
        """Number of published counter tables, which are not copied."""
        self.is_stopping = False

    @property
    def offsets(self) -> SnapshotOffsets:
        """Acknowledged offsets. The object is replaced when its value changes."""
        with self._changed:
            return self._offsets

    def stop(self) -> None:
        """Ends all waits."""
        with self._changed:
            self.is_stopping = True
            self._changed.notify_all()

    def wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def wait(self, seconds: float) -> None:
        """Waits until something changes, but at most `seconds`."""
        with self._changed:
            if not self.is_stopping:
                self._changed.wait(max(0.0, seconds))

    def put(self, table: TableSnapshot) -> None:
        """Adds or replaces the snapshot of a table; reading restarts from the offsets."""
        with self._changed:
            self._offsets = self._offsets.with_table(table)
            self._rollback()

    def stop_table(self, name: str) -> bool:
        """Stops the snapshot of a table (`keyspace.table`); returns False if none is running."""
        with self._changed:
            for table in self._offsets.tables.values():
                if table.table == name and table.state in (State.COPYING, State.REFUSED):
                    self.put(replace(table, state=State.STOPPED))
                    return True
            return False

    def note_scan(self, forget: Iterable[str], counter_tables: int) -> list[str]:
        """Notes the result of a scan; returns the names of forgotten tables."""
        with self._changed:
            forgotten = [self._offsets.tables[each].table for each in forget]
            if forgotten:
                self._offsets = self._offsets.without(forget)
                self._rollback()
            self.counter_tables = counter_tables
            return forgotten

    def next_read(self, is_postponed: Callable[[str], bool]) -> NextRead | None:
        """Returns the next range of the first table that is not postponed; None if all are read."""
        with self._changed:
            for table in self._offsets.tables.values():
                if table.state is not State.COPYING or is_postponed(table.table_id):
                    continue
                for token_range, acknowledged in table.offsets.items():
                    start = self._read.get((table.table_id, token_range), acknowledged)
                    if start < token_range.to:
                        return NextRead(table, token_range, start, self._epoch)
            return None

    def offer(self, page: EncodedPage, epoch: int) -> bool:
        """Adds a page once there is space; returns False if the epoch ended or the agent stops."""
        source = page.source
        with self._changed:
            self._changed.wait_for(
                lambda: (
                    len(self._ready) < _MAX_READY_PAGES or self._epoch != epoch or self.is_stopping
                )
            )
            if self._epoch != epoch or self.is_stopping:
                return False
            self._ready.append(page)
            self._read[source.table_id, source.range] = token_at(page.batch.end_position)
            return True

    def peek(self) -> EncodedPage | None:
        with self._changed:
            return self._ready[0] if self._ready else None

    def take(self) -> None:
        """Removes the page that `peek` returned."""
        with self._changed:
            if self._ready:
                self._ready.popleft()
            self._changed.notify_all()

    def acknowledge(self, source: SnapshotPartition, position: int) -> TableSnapshot | None:
        """Advances the offset of a range. Returns the snapshot of the table if it is complete."""
        with self._changed:
            before = self._current(source)
            if before is None:
                return None
            after = before.advanced(source.range, token_at(position))
            self._offsets = self._offsets.with_table(after)
            is_completed = after.state is State.COMPLETED and before.state is not after.state
            return after if is_completed else None

    def add_rows(self, source: SnapshotPartition, rows: int) -> None:
        """Counts rows that the pipeline has taken."""
        with self._changed:
            table = self._current(source)
            if table is not None:
                self._offsets = self._offsets.with_table(replace(table, rows=table.rows + rows))

    def rollback(self) -> None:
        """Drops unacknowledged pages, which are then read again."""
        with self._changed:
            self._rollback()

    def _current(self, source: SnapshotPartition) -> TableSnapshot | None:
        """Returns the table's snapshot; None if it was restarted since."""
        table = self._offsets.tables.get(source.table_id)
        return table if table is not None and table.started_us == source.started_us else None

    def _rollback(self) -> None:
        self._epoch += 1
        self._ready.clear()
        self._read.clear()
        self._changed.notify_all()

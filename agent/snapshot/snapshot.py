"""The copies of a node's tables: what is to be copied, read by a thread of its own, and how far
everything is acknowledged.

The thread looks at the tables of the node, begins copies, and reads one table after the other,
range by range, a page ahead of the pipeline at most. The pipeline takes pages when its window has
room and tells what is acknowledged; only that is progress.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

from agent.snapshot.errors import (
    PostponedTableError,
    RefusedTableError,
    ReplicasMissingError,
)
from agent.snapshot.offsets import SnapshotOffsets, State, TableSnapshot, begun
from agent.snapshot.partition import EncodedPage, SnapshotPartition
from agent.snapshot.plan import NodeTable, plan
from agent.snapshot.postponed_tables import PostponedTables
from agent.snapshot.range_reader import (
    PageSize,
    RangeReader,
    Throttle,
    token_at,
)
from agent.snapshot.rejected_statements import RejectedStatements
from agent.snapshot.ring import TokenRange, primary_ranges, whole_ring
from agent.snapshot.settings import SnapshotSettings
from agent.snapshot.sources import EncoderSource, SnapshotNode
from commitlog import EventBatch, MalformedValueError, SchemaError
from sidecar.errors import ConfigError, RefusedError, UnavailableError
from sidecar.logs import RateLimitedLog, fields

logger = logging.getLogger(__name__)

_REFUSED_PAUSE_S = 0.5
_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 30.0
_POSTPONED_S = 30.0
_TELL_INTERVAL_S = 30.0
_MOST_READY = 2
_CLOSE_S = 5.0


@dataclass(frozen=True, slots=True)
class _Open:
    """The reader that reads on, as long as nothing begins again."""

    table_id: str
    reader: RangeReader
    epoch: int


class Snapshot:
    """`start` and `close` it; the pipeline's thread takes and acknowledges, any other may look."""

    def __init__(
        self,
        settings: SnapshotSettings,
        node: SnapshotNode,
        encoders: EncoderSource,
        progress: SnapshotOffsets,
        *,
        on_ready: Callable[[], None],
        postponed_s: float = _POSTPONED_S,
    ) -> None:
        """`on_ready` is called by the thread when there is something to take or to save. A table
        that cannot be copied for now is tried again after `postponed_s`."""
        self.settings = settings
        self._node = node
        self._encoders = encoders
        self._on_ready = on_ready
        self._postponed = PostponedTables(postponed_s)
        self._changed = threading.Condition()
        self._progress = progress
        self._ready: deque[EncodedPage] = deque()
        self._read: dict[tuple[str, TokenRange], int] = {}
        self._epoch = 0
        self._trouble = ""
        self._counters = 0
        self._has_looked = False
        self._look_at_s = time.monotonic()
        self._is_stopping = False
        self._open: _Open | None = None
        self._refusals = RejectedStatements()
        self._size = PageSize(settings.page_bytes, settings.rows_per_second)
        self._throttle = Throttle(settings.rows_per_second)
        self._repeated = RateLimitedLog(logger)
        self._tell_at_s = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="snapshot", daemon=True)

    # For any thread.

    @property
    def progress(self) -> SnapshotOffsets:
        """Acknowledged; another object whenever it is another value."""
        with self._changed:
            return self._progress

    @property
    def trouble(self) -> str:
        """Why nothing is read at the moment, in one sentence; empty where it is."""
        with self._changed:
            return self._trouble

    @property
    def counters(self) -> int:
        """Published tables that are not copied, since they hold counters."""
        with self._changed:
            return self._counters

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Ends the thread; one that hangs is left to end with the process."""
        with self._changed:
            self._is_stopping = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join(_CLOSE_S)
        if not self._thread.is_alive():
            self._node.close()

    def wake(self) -> None:
        """The schema has changed: tables may be new."""
        with self._changed:
            self._look_at_s = time.monotonic()
            self._changed.notify_all()

    def begin(self, table: str) -> str:
        """Copies a table (`keyspace.table`) from the beginning; gives a sentence.

        Raises ConfigError for one that is not there or not published, UnavailableError when the
        node cannot be asked.
        """
        found = next((each for each in self._node.tables() if each.full_name == table), None)
        if found is None:
            raise ConfigError(f"There is no table {table}; the name is keyspace.table.")
        if not found.is_published:
            raise ConfigError(
                f"{table} is not published: it has no cdc = true, or table.include.list and "
                "table.exclude.list leave it out."
            )
        if found.is_counter:
            raise ConfigError(f"{table} holds counters, which are not copied.")
        self._begin(found)
        return f"The snapshot of {table} begins."

    def stop(self, table: str) -> str:
        """Gives the copy of a table up, or does without one that the node refuses; gives a
        sentence. Raises ConfigError without one."""
        with self._changed:
            copies = self._progress.copies.values()
            copy = next((each for each in copies if each.table == table), None)
            if copy is None or copy.state not in (State.COPYING, State.REFUSED):
                raise ConfigError(f"No snapshot of {table} is on its way.")
            self._replace(replace(copy, state=State.STOPPED))
        self._on_ready()
        return f"The snapshot of {table} is stopped; what was sent stays."

    # For the pipeline's thread.

    def peek(self) -> EncodedPage | None:
        """The next page; None while there is none."""
        with self._changed:
            return self._ready[0] if self._ready else None

    def take(self) -> None:
        """The page that `peek` gave is in the window."""
        with self._changed:
            if self._ready:
                self._ready.popleft()
            self._changed.notify_all()

    def acknowledge(self, source: SnapshotPartition, position: int) -> None:
        """Everything of a range is safe up to a position."""
        with self._changed:
            copy = self._progress.copies.get(source.table_id)
            if copy is None or copy.started_us != source.begun_us:
                return
            after = copy.advanced(source.range, token_at(position))
            self._progress = self._progress.with_copy(after)
            is_completed = after.state is State.COMPLETED and copy.state is not State.COMPLETED
        if is_completed:
            took_s = round(time.time() - after.started_us / 1_000_000, 1)
            logger.info(
                "the snapshot of a table is complete",
                extra=fields(table=after.table, rows=after.rows, took_s=took_s),
            )

    def delivered(self, source: SnapshotPartition, rows: int) -> None:
        """So many rows were read and are in the window."""
        with self._changed:
            copy = self._progress.copies.get(source.table_id)
            if copy is not None and copy.started_us == source.begun_us:
                self._progress = self._progress.with_copy(replace(copy, rows=copy.rows + rows))

    def start_again(self) -> None:
        """Everything that is not acknowledged is read again."""
        with self._changed:
            self._forget_reading()

    # The thread.

    def _run(self) -> None:
        pause_s = _FIRST_PAUSE_S
        while not self._is_stopping:
            try:
                if self._look_in_s <= 0:
                    self._look()
                worked = self._copy()
                pause_s = _FIRST_PAUSE_S
                reason, due_in_s = self._postponed.look(self.progress.copies)
                self._say(reason)
                if not worked:
                    self._wait(min(self._look_in_s, due_in_s))
            except ReplicasMissingError as error:
                self._say(self._missing(error))
                pause_s = self._wait_longer(pause_s)
            except (UnavailableError, SchemaError, MalformedValueError) as error:
                self._say(f"The snapshot waits: {error}")
                pause_s = self._wait_longer(pause_s)
            except (ConfigError, RefusedError) as error:
                self._say(str(error))
                pause_s = self._wait_longer(_LONGEST_PAUSE_S)
            except Exception as error:
                # Without a word a thread that ended would look like one that copies.
                fault = f"{type(error).__name__}: {error}"
                self._say(
                    f"The snapshot waits after an unexpected fault ({fault}) and tries again; "
                    "log.level=debug shows where it is."
                )
                logger.debug("where the error came from", exc_info=error)
                pause_s = self._wait_longer(pause_s)

    @property
    def _look_in_s(self) -> float:
        """When the tables of the node are looked at; not at all where nothing can follow."""
        if self.settings.mode == "never" and not self.progress.copies:
            return self.settings.scan_interval_ms / 1000
        return max(0.0, self._look_at_s - time.monotonic())

    def _look(self) -> None:
        tables = self._node.tables()
        progress = self.progress
        found = plan(tables, progress, self.settings.mode, is_first_look=not self._has_looked)
        for table in found.begin:
            self._begin(table)
        with self._changed:
            gone = [progress.copies[each].table for each in found.forget]
            if found.forget:
                self._progress = self._progress.without(found.forget)
                self._forget_reading()
            self._counters = found.counters
            self._has_looked = True
            self._look_at_s = time.monotonic() + self.settings.scan_interval_ms / 1000
        for name in gone:
            logger.info(
                "a table is dropped or not published any more; published again, it is copied again",
                extra=fields(table=name),
            )
        if found.begin or gone:
            self._on_ready()

    def _begin(self, table: NodeTable) -> None:
        if self.settings.copies_whole_ring:
            ranges = whole_ring()
        else:
            ring = self._node.ring()
            replication = self._node.replication(table.keyspace)
            ranges = primary_ranges(ring.nodes, ring.host_id, replication)
        copy = begun(table.table_id, table.full_name, ranges, time.time_ns() // 1000)
        self._refusals.over(copy.table_id)
        with self._changed:
            self._replace(copy)
        logger.info(
            "the snapshot of a table begins",
            extra=fields(
                table=copy.table, ranges=len(ranges), consistency=self.settings.consistency
            ),
        )
        self._on_ready()

    def _copy(self) -> bool:
        """Reads a page, and waits until it has room; False when nothing is to be copied."""
        with self._changed:
            epoch, todo = self._epoch, self._next_range()
        if todo is None:
            return False
        copy, ranged, start = todo
        try:
            reader = self._reader(copy, ranged, start, epoch)
        except PostponedTableError as error:
            self._postponed.put_off(copy.table_id, f"The snapshot of {copy.table} waits: {error}")
            return True
        self._postponed.over(copy.table_id)
        if (due_in_s := reader.due_in_s) > 0:
            self._wait(due_in_s)
            return True
        try:
            batch = reader.read()
        except RefusedTableError as error:
            self._refused(copy, reader.cql, str(error))
            return True
        except BaseException:
            self._open = None
            raise
        if reader.is_done:
            self._open = None
        if self._hand_over(copy, ranged, batch, epoch):
            self._tell(copy)
            self._on_ready()
        return True

    def _reader(
        self, copy: TableSnapshot, ranged: TokenRange, start: int, epoch: int
    ) -> RangeReader:
        """The one that is open, or one that begins at a token."""
        held = self._open
        if held is not None and (held.table_id, held.reader.range, held.epoch) == (
            copy.table_id,
            ranged,
            epoch,
        ):
            return held.reader
        encoder = self._encoders.encoder(
            copy,
            element_times=self._node.ring().has_element_times,
            is_refused=copy.table_id in self._refusals,
        )
        if encoder is None:
            raise UnavailableError(f"the schema of {copy.table} is not known yet.")
        reader = RangeReader(
            self._node,
            encoder,
            ranged,
            start,
            self.settings.consistency,
            self._size,
            self._throttle,
        )
        self._open = _Open(copy.table_id, reader, epoch)
        return reader

    def _hand_over(
        self, copy: TableSnapshot, ranged: TokenRange, batch: EventBatch, epoch: int
    ) -> bool:
        """Waits until the pipeline took enough; False when everything begins again meanwhile."""
        source = SnapshotPartition(copy.table_id, copy.table, ranged, copy.started_us)
        with self._changed:
            self._changed.wait_for(
                lambda: len(self._ready) < _MOST_READY or self._epoch != epoch or self._is_stopping
            )
            if self._epoch != epoch or self._is_stopping:
                return False
            self._refusals.over(copy.table_id)
            self._ready.append(EncodedPage(source, batch, batch.start_position))
            self._read[copy.table_id, ranged] = token_at(batch.end_position)
            return True

    def _refused(self, copy: TableSnapshot, cql: str, reason: str) -> None:
        """The schema may be behind the table, and a node behind what it shows of its schema."""
        self._open = None
        if not self._refusals.is_final(copy.table_id, cql):
            # It may be gone, which is no refusal.
            self._look_at_s = time.monotonic()
            self._wait(_REFUSED_PAUSE_S)
            return
        self._refusals.over(copy.table_id)
        logger.warning("a table cannot be copied", extra=fields(table=copy.table, reason=reason))
        with self._changed:
            self._replace(replace(copy, state=State.REFUSED, reason=reason))
        self._on_ready()

    def _next_range(self) -> tuple[TableSnapshot, TokenRange, int] | None:
        for copy in self._progress.copies.values():
            if copy.state is not State.COPYING or self._postponed.is_put_off(copy.table_id):
                continue
            for ranged, acknowledged in copy.reached.items():
                start = self._read.get((copy.table_id, ranged), acknowledged)
                if start < ranged.to:
                    return copy, ranged, start
        return None

    def _replace(self, copy: TableSnapshot) -> None:
        """With the lock held: another copy of the table, or the same in another state."""
        self._progress = self._progress.with_copy(copy)
        self._forget_reading()

    def _forget_reading(self) -> None:
        """With the lock held: reading begins again where everything is acknowledged."""
        self._epoch += 1
        self._ready.clear()
        self._read.clear()
        self._changed.notify_all()

    def _missing(self, error: ReplicasMissingError) -> str:
        silent = self._node.silent_peers()
        who = f"{', '.join(silent)} does not answer" if silent else "a replica does not answer"
        return (
            f"The snapshot waits: snapshot.consistency={self.settings.consistency} asks for more "
            f"replicas than answer ({error}), and {who}. Start it, or set "
            "snapshot.consistency=LOCAL_QUORUM and copy with fewer."
        )

    def _say(self, trouble: str) -> None:
        with self._changed:
            self._trouble = trouble
        if trouble:
            self._repeated.log("snapshot", trouble)
        else:
            self._repeated.resolved("snapshot", "The snapshot goes on.")

    def _tell(self, copy: TableSnapshot) -> None:
        if time.monotonic() < self._tell_at_s:
            return
        self._tell_at_s = time.monotonic() + _TELL_INTERVAL_S
        current = self.progress.copies.get(copy.table_id)
        if current is not None:
            logger.info(
                "copying",
                extra=fields(
                    table=current.table, rows=current.rows, percent=round(100 * current.ratio, 1)
                ),
            )

    def _wait_longer(self, pause_s: float) -> float:
        self._wait(pause_s)
        return min(_LONGEST_PAUSE_S, pause_s * 2)

    def _wait(self, seconds: float) -> None:
        """For so long, or until something changes."""
        with self._changed:
            if not self._is_stopping:
                self._changed.wait(max(0.0, seconds))

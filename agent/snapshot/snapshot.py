"""Snapshots of the node's tables.

A thread scans the node's tables, and reads one table after the other, range by range, at most two
pages ahead of the pipeline. The pipeline takes a page when its window has space. Only
acknowledgements by the sink advance the offsets.
"""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import replace

from agent.config.capture import SnapshotProperties
from agent.snapshot.connection import PageConnection
from agent.snapshot.encoders import SchemaEncoders
from agent.snapshot.errors import (
    MaskedTableError,
    PostponedTableError,
    RejectedTableError,
    ReplicasMissingError,
    TableReadError,
)
from agent.snapshot.offsets import SnapshotOffsets, State, TableSnapshot, new_table_snapshot
from agent.snapshot.plan import EncodedPage, NodeTable, SnapshotPartition, plan
from agent.snapshot.range_reader import PageSize, RangeReader
from agent.snapshot.ring import TokenRange, primary_ranges, replica_ranges, whole_ring
from agent.snapshot.state import NextRead, SnapshotState
from agent.snapshot.table_faults import PostponedTables, RejectedStatements
from sidecar.errors import AccessDeniedError, ConfigError, SidecarError, UnavailableError
from sidecar.fetch_size import Throttle
from sidecar.logs import RateLimitedLog, fields
from sidecar.process.wait_policy import RetryPause

logger = logging.getLogger(__name__)

_REJECTED_PAUSE_S = 0.5
_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 30.0
_LEAST = ("NODE_LOCAL", "LOCAL_ONE", "ONE")
_LOG_INTERVAL_S = 30.0
_CLOSE_S = 5.0
_POSTPONED_S = 30.0
_MOST_FAILURES = 5
"""Failed reads of a single row after which the agent gives up a table."""


class Snapshot:
    """Copies tables between `start` and `close`. The pipeline's thread takes and acknowledges
    pages; any thread may call the other public methods."""

    def __init__(
        self,
        settings: SnapshotProperties,
        node: PageConnection,
        encoders: SchemaEncoders,
        offsets: SnapshotOffsets,
        *,
        page_bytes: int,
        on_ready: Callable[[], None],
        postponed_s: float = _POSTPONED_S,
    ) -> None:
        """`page_bytes` is the approximate size of the events of a page. The thread calls `on_ready`
        if there is a page to take or an offset to save. It retries a postponed table after
        `postponed_s`."""
        self.settings = settings
        self._node = node
        self._encoders = encoders
        self._page_bytes = page_bytes
        self._rows_per_second = settings.snapshot_rows_per_second or None
        self._state = SnapshotState(offsets)
        # Only for the pipeline's thread.
        self.peek, self.take = self._state.peek, self._state.take
        self.add_rows, self.rollback = self._state.add_rows, self._state.rollback
        self._on_ready = on_ready
        self._postponed = PostponedTables(postponed_s, first_pause_s=_FIRST_PAUSE_S)
        self._not_begun: dict[NodeTable, str] = {}
        self._rejected = RejectedStatements()
        self._sizes: dict[str, PageSize] = {}
        self._throttle = Throttle(self._rows_per_second)
        self._open: tuple[tuple[str, TokenRange, int], RangeReader] | None = None
        """The reader in use, with its `reader_key`."""
        self._has_scanned = False
        self._scan_at_s = time.monotonic()
        self._rate_limited = RateLimitedLog(logger)
        self._log_at_s = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="snapshot", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Stops the thread, and closes the connection if the thread has ended. A blocked thread
        continues until the process exits."""
        self._state.stop()
        if self._thread.is_alive():
            self._thread.join(_CLOSE_S)
        if not self._thread.is_alive():
            self._node.close()

    def scan_now(self) -> None:
        """Triggers a scan of the node's tables, for instance after a schema change."""
        self._scan_at_s = time.monotonic()
        self._state.wake()

    @property
    def offsets(self) -> SnapshotOffsets:
        """Acknowledged offsets. The object is replaced when its value changes."""
        return self._state.offsets

    @property
    def error(self) -> str:
        """Why the snapshot does not progress, as a sentence; empty if it progresses."""
        return self._state.error

    @property
    def counter_tables(self) -> int:
        """Number of published counter tables, which are not copied."""
        return self._state.counter_tables

    def start_table(self, name: str) -> str:
        """Copies a table (`keyspace.table`) from the beginning; returns a message. Raises
        ConfigError if the table does not exist or cannot be copied, UnavailableError if the node
        does not answer."""
        found = next((each for each in self._node.tables() if each.full_name == name), None)
        if found is None:
            raise ConfigError(f"{name}: no such table. Use keyspace.table.")
        if not found.is_published:
            raise ConfigError(
                f"{name}: the table is not published. Set cdc = true, and include it in "
                "table.include.list but not in table.exclude.list."
            )
        if found.is_counter:
            raise ConfigError(f"{name}: snapshots do not support counter tables.")
        self.begin(found)
        return f"Started the snapshot of {name}."

    def stop_table(self, name: str) -> str:
        """Stops the snapshot of a table, or skips a table that the node rejects; returns a message.
        Raises ConfigError if no snapshot is running."""
        if not self._state.stop_table(name):
            raise ConfigError(f"{name}: no snapshot is running.")
        self._on_ready()
        return f"Stopped the snapshot of {name}. Events that were sent are not withdrawn."

    def acknowledge(self, source: SnapshotPartition, position: int) -> None:
        """Notes that all events of a range before `position` are acknowledged."""
        completed = self._state.acknowledge(source, position)
        if completed is not None:
            took_s = round(time.time() - completed.started_us / 1_000_000, 1)
            logger.info(
                "the snapshot of a table is complete",
                extra=fields(table=completed.table, rows=completed.rows, took_s=took_s),
            )

    def begin(self, table: NodeTable) -> None:
        ranges = self._ranges(table.keyspace)
        started_us = time.time_ns() // 1000
        snapshot = new_table_snapshot(table.table_id, table.full_name, ranges, started_us)
        self._rejected.clear(snapshot.table_id)
        self._state.put(snapshot)
        logger.info(
            "the snapshot of a table starts",
            extra=fields(
                table=snapshot.table,
                ranges=len(ranges),
                consistency=self.settings.snapshot_consistency,
            ),
        )
        self._on_ready()

    def _ranges(self, keyspace: str) -> tuple[TokenRange, ...]:
        if self.settings.snapshot_ranges == "all":
            return whole_ring()
        ring = self._node.ring()
        of_node = primary_ranges if self.settings.snapshot_ranges == "primary" else replica_ranges
        return of_node(ring.nodes, ring.host_id, self._node.replication(keyspace))

    def _run(self) -> None:
        pause = RetryPause(_FIRST_PAUSE_S, _LONGEST_PAUSE_S)
        while not self._state.is_stopping:
            try:
                if self._scan_in_s <= 0:
                    self._scan()
                has_worked = self._read()
                pause.succeeded()
                reason, due_in_s = self._postponed.pending(self._state.offsets.tables)
                self._report(reason or next(iter(self._not_begun.values()), ""))
                if not has_worked:
                    self._state.wait(min(self._scan_in_s, due_in_s))
            except UnavailableError as error:
                self._report(f"The snapshot waits: {error}")
                self._state.wait(pause.failed())
            except (ConfigError, AccessDeniedError) as error:
                self._report(str(error))
                pause.failed()
                self._state.wait(_LONGEST_PAUSE_S)
            except Exception as error:
                # If the thread died without a report, the snapshot would appear to continue.
                fault = f"{type(error).__name__}: {error}"
                self._report(
                    f"The snapshot waits after an unexpected error ({fault}) and retries. Set "
                    "log.level=debug for details."
                )
                logger.debug("stack trace of the error", exc_info=error)
                self._state.wait(pause.failed())

    @property
    def _scan_in_s(self) -> float:
        """Seconds until the next scan; never 0 if no snapshot can start or end."""
        if self.settings.snapshot_mode == "never" and not self._state.offsets.tables:
            return self.settings.snapshot_scan_interval_ms / 1000
        return max(0.0, self._scan_at_s - time.monotonic())

    def _scan(self) -> None:
        tables = self._node.tables()
        is_first = not self._has_scanned
        found = plan(
            tables, self._state.offsets, self.settings.snapshot_mode, is_first_scan=is_first
        )
        again = [table for table in self._not_begun if table in tables and table.is_published]
        self._not_begun.clear()
        for table in (*again, *found.begin):
            if table.table_id not in self._state.offsets.tables:
                self._begin_isolated(table)
        forgotten = self._state.note_scan(found.forget, found.counter_tables)
        self._has_scanned = True
        self._scan_at_s = time.monotonic() + self.settings.snapshot_scan_interval_ms / 1000
        for name in forgotten:
            logger.info(
                "a table was dropped or is no longer published; if published again, it is copied "
                "again",
                extra=fields(table=name),
            )
        if found.begin or forgotten:
            self._on_ready()

    def _begin_isolated(self, table: NodeTable) -> None:
        """Starts a snapshot; an error of this table delays it until the next scan."""
        try:
            self.begin(table)
        except Exception as error:
            self._require_own_fault(error)
            self._not_begun[table] = f"The snapshot of {table.full_name} waits: {_text(error)}"

    def _read(self) -> bool:
        """Reads a page and waits until it is accepted; returns False if nothing is left to read."""
        order = self._state.next_read(self._postponed.is_postponed)
        if order is None:
            return False
        try:
            self._read_page(order)
        except Exception as error:
            self._open = None
            self._require_own_fault(error)
            self._postpone(order.table, error)
        return True

    def _require_own_fault(self, error: Exception) -> None:
        """Raises errors that affect all tables: memory, settings, an unavailable node."""
        if isinstance(error, (MemoryError, ConfigError)):
            raise error
        if isinstance(error, (UnavailableError, AccessDeniedError)):
            # If the node answers, only this table fails.
            self._node.ring()

    def _postpone(self, table: TableSnapshot, error: Exception) -> None:
        """Postpones a table; gives it up if even single rows fail for a lasting reason."""
        text = _text(error)
        if isinstance(error, ReplicasMissingError):
            text = self._missing_replicas(error)
        logger.debug("stack trace of the error", exc_info=error)
        failures = self._postponed.note_failure(
            table.table_id, f"The snapshot of {table.table} waits: {text}"
        )
        size = self._sizes.get(table.table_id)
        is_lasting = isinstance(error, TableReadError) and error.is_lasting
        if is_lasting and failures >= _MOST_FAILURES and (size is None or size.rows == 1):
            self._reject_finally(table, text)

    def _read_page(self, order: NextRead) -> None:
        table = order.table
        try:
            reader = self._reader(order)
        except PostponedTableError as error:
            reason = f"The snapshot of {table.table} waits: {error}"
            self._postponed.postpone(table.table_id, reason)
            return
        except MaskedTableError as error:
            self._reject_finally(table, str(error))
            return
        if (due_in_s := reader.due_in_s) > 0:
            self._state.wait(due_in_s)
            return
        try:
            batch = reader.read()
            if self._node.masks.after(table.table):
                # The next reader of the range checks again whether the table is masked.
                self._open = None
                return
        except RejectedTableError as error:
            self._reject(table, reader.cql, str(error))
            return
        self._postponed.clear(table.table_id)
        if reader.is_done:
            self._open = None
        partition = SnapshotPartition(table.table_id, table.table, order.range, table.started_us)
        page = EncodedPage(partition, batch, batch.start_position)
        if self._state.offer(page, order.epoch):
            self._rejected.clear(table.table_id)
            self._log_progress(table)
            self._on_ready()

    def _reader(self, order: NextRead) -> RangeReader:
        """Returns the open reader, or a new reader."""
        if self._open is not None and self._open[0] == order.reader_key:
            return self._open[1]
        table = order.table
        if problem := self._node.masks.before(table.table):
            raise MaskedTableError(problem)
        encoder = self._encoders.encoder(
            table,
            element_times=self._node.ring().has_element_times,
            was_rejected=table.table_id in self._rejected,
        )
        if encoder is None:
            raise UnavailableError(f"the schema of {table.table} is unknown.")
        reader = RangeReader(
            self._node,
            encoder,
            order.range,
            order.start,
            self.settings.snapshot_consistency,
            self._sizes.setdefault(
                table.table_id, PageSize(self._page_bytes, self._rows_per_second)
            ),
            self._throttle,
        )
        self._open = (order.reader_key, reader)
        return reader

    def _reject(self, table: TableSnapshot, cql: str, reason: str) -> None:
        """Retries a rejected statement for a while, because the agent's schema can be outdated."""
        self._open = None
        if self._rejected.is_final(table.table_id, cql):
            self._reject_finally(table, reason)
            return
        # The table may have been dropped: scan before the next attempt.
        self._scan_at_s = time.monotonic()
        self._state.wait(_REJECTED_PAUSE_S)

    def _reject_finally(self, table: TableSnapshot, reason: str) -> None:
        self._open = None
        self._rejected.clear(table.table_id)
        self._postponed.clear(table.table_id)
        logger.warning("a table cannot be copied", extra=fields(table=table.table, reason=reason))
        self._state.put(replace(table, state=State.REFUSED, reason=reason))
        self._on_ready()

    def _missing_replicas(self, error: ReplicasMissingError) -> str:
        peers = self._node.unreachable_peers()
        consistency = self.settings.snapshot_consistency
        is_least = consistency in ("LOCAL_QUORUM", *_LEAST)
        remedy = "" if is_least else ", or set snapshot.consistency=LOCAL_QUORUM"
        who = f"no answer from {', '.join(peers)}" if peers else "a replica does not answer"
        return (
            f"snapshot.consistency={consistency} needs more replicas than answer ({error}); {who}. "
            f"Start the replica{remedy}."
        )

    def _report(self, error: str) -> None:
        self._state.error = error
        if error:
            self._rate_limited.log("snapshot", error)
        else:
            self._rate_limited.resolved("snapshot", "The snapshot continues.")

    def _log_progress(self, table: TableSnapshot) -> None:
        if time.monotonic() < self._log_at_s:
            return
        self._log_at_s = time.monotonic() + _LOG_INTERVAL_S
        current = self._state.offsets.tables.get(table.table_id)
        if current is not None:
            percent = round(100 * current.ratio, 1)
            logger.info(
                "copying a table",
                extra=fields(table=current.table, rows=current.rows, percent=percent),
            )


def _text(error: Exception) -> str:
    if isinstance(error, SidecarError):
        return str(error)
    return (
        f"an unexpected error ({type(error).__name__}: {error}). The agent retries. Set "
        "log.level=debug for details."
    )

"""Snapshots of the node's tables, as the pipeline, the HTTP server and the status use them.

A thread (`SnapshotWorker`) reads one table after the other, range by range, at most two pages ahead
of the pipeline. The pipeline takes a page when its window has space. Only acknowledgements by the
sink advance the offsets.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import replace

from agent.snapshot.connection import PageConnection
from agent.snapshot.encoders import SchemaEncoders
from agent.snapshot.offsets import SnapshotOffsets, State, TableSnapshot
from agent.snapshot.plan import SnapshotPartition, SnapshotSettings
from agent.snapshot.state import SnapshotState
from agent.snapshot.worker import SnapshotWorker
from sidecar.errors import ConfigError
from sidecar.logs import fields

logger = logging.getLogger(__name__)

_POSTPONED_S = 30.0


class Snapshot:
    """Copies tables between `start` and `close`. The pipeline's thread takes and acknowledges
    pages; any thread may call the other methods."""

    def __init__(
        self,
        settings: SnapshotSettings,
        node: PageConnection,
        encoders: SchemaEncoders,
        offsets: SnapshotOffsets,
        *,
        on_ready: Callable[[], None],
        postponed_s: float = _POSTPONED_S,
    ) -> None:
        """The thread calls `on_ready` if there is a page to take or an offset to save. It retries
        a postponed table after `postponed_s`."""
        self.settings = settings
        self._node = node
        self._on_ready = on_ready
        self._state = SnapshotState(offsets)
        self._worker = SnapshotWorker(
            settings, node, encoders, self._state, on_ready=on_ready, postponed_s=postponed_s
        )
        self.start = self._worker.start
        self.close = self._worker.close
        self.scan_now = self._worker.scan_now
        # Only for the pipeline's thread.
        self.peek, self.take = self._state.peek, self._state.take
        self.add_rows, self.rollback = self._state.add_rows, self._state.rollback

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
        self._worker.begin(found)
        return f"Started the snapshot of {name}."

    def stop_table(self, name: str) -> str:
        """Stops the snapshot of a table, or skips a table that the node rejects; returns a message.
        Raises ConfigError if no snapshot is running."""

        def stopped(table: TableSnapshot) -> TableSnapshot | None:
            if table.state not in (State.COPYING, State.REFUSED):
                return None
            return replace(table, state=State.STOPPED)

        if not self._state.change(name, stopped):
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

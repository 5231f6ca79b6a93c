"""Captures transactions: queries the column ids and creates the journal's reader.

Transactions refer to columns by id. `system.local_metadata_log` records schema changes as CQL
statements (Cassandra's AlterSchema), from which the agent derives the ids. A dedicated thread runs
the queries, so that an unresponsive node blocks nothing else.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from agent.accord.journal import AccordJournal, JournalParts
from agent.accord.position import position_from_entries
from agent.accord.segments import is_own
from agent.cdc_raw.names import SegmentName
from agent.config.loader import AgentConfig
from agent.node.connection import NodeConnection
from agent.node.host_ids import METADATA_LOG
from commitlog import ColumnIds, Schema
from sidecar.errors import SidecarError
from sidecar.logs import RateLimitedLog
from sidecar.offsets.properties_store import PropertiesStore
from sidecar.process.lifecycle import Worker

logger = logging.getLogger(__name__)

QUERY = f"SELECT epoch, kind, transformation FROM {METADATA_LOG}"
_RETRY_S = 2.0


def column_ids(rows: Iterable[Mapping[str, Any]]) -> ColumnIds:
    """Derives column ids from rows of the metadata log, which may be in any order."""
    return ColumnIds(
        sorted((row["epoch"], row["kind"], bytes(row["transformation"])) for row in rows)
    )


class ColumnIdSource:
    """The latest column ids. A worker thread queries them when it starts, and on request."""

    def __init__(
        self,
        rows: Callable[[str], Iterable[Mapping[str, Any]]],
        on_change: Callable[[], None],
    ) -> None:
        """`rows` runs a query and raises SidecarError; the thread calls `on_change`."""
        self._rows = rows
        self._on_change = on_change
        self._repeated = RateLimitedLog(logger)
        self._is_wanted = threading.Event()
        self._is_wanted.set()
        self.ids: ColumnIds | None = None
        """None until the first query succeeds."""
        self.error = ""
        """Why the latest query failed; empty if it succeeded."""
        self.worker = Worker("accord", self._work)

    def request(self) -> None:
        """Requests a new query. Any thread may call it."""
        self._is_wanted.set()

    def _work(self, stopped: threading.Event) -> None:
        while not stopped.is_set():
            if self._is_wanted.wait(_RETRY_S):
                self._is_wanted.clear()
                self._read()
                stopped.wait(_RETRY_S)

    def _read(self) -> None:
        try:
            self.ids = column_ids(self._rows(QUERY))
        except SidecarError as error:
            self.error = str(error)
            self._repeated.log("ids", "the column ids of transactions cannot be read", reason=error)
            self._is_wanted.set()
        else:
            self.error = ""
            self._repeated.resolved("ids", "the column ids of transactions can be read again")
        self._on_change()


OFFSET_FILE = "accord_offset.properties"
"""File in `offset.backing.store.dir` that stores the position in the journal."""


class AccordCapture:
    """The column ids and the journal of one node. `start` runs the thread that queries the ids."""

    def __init__(
        self,
        config: AgentConfig,
        connection: NodeConnection,
        node_id: str,
        schema: Callable[[], Schema | None],
        refresh_schema: Callable[[str], bool],
        wake: Callable[[], None],
        *,
        known: Iterable[SegmentName] = (),
    ) -> None:
        """New segments never reuse the id of a `known` segment. The column id thread calls `wake`.
        Raises OffsetStoreError or ConfigError if the stored position is unusable."""
        properties = config.properties
        store = PropertiesStore(properties.offset_directory, OFFSET_FILE, properties.topic_prefix)
        position = position_from_entries(store.load().values, node_id)
        used = max((name.id for name in known if is_own(name)), default=0)
        self._connection = connection
        self._ids = ids = ColumnIdSource(connection.rows, wake)
        self.journal = AccordJournal(
            config.accord_journal_directory,
            config.cdc_raw_directory,
            replace(position, next_id=max(position.next_id, used + 1)),
            properties.blocked_timeout_ms / 1000,
            JournalParts(
                schema=schema,
                refresh_schema=refresh_schema,
                column_ids=lambda: ids.ids,
                request_column_ids=ids.request,
                save=lambda position: store.save(position.to_entries(node_id)),
                clock=time.monotonic,
            ),
        )
        """The journal's reader, for use on the pipeline's thread."""

    def start(self) -> None:
        self._ids.worker.start()

    def close(self) -> None:
        self._ids.worker.stop()
        self._connection.close()

"""The parts of the capture of transactions, put together with the ids of columns.

Transactions name columns by ids. `system.local_metadata_log` has each schema change as a statement
(Cassandra's AlterSchema), from which the ids follow. The connection has a thread of its own, so
that a node that does not answer stops nothing else.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from agent.accord.journal import AccordJournal, JournalParts
from agent.accord.position import JournalPosition, position_from_entries
from agent.accord.segments import is_own
from agent.cdc_raw.names import SegmentName
from agent.config.loader import AgentConfig
from agent.node.connection import NodeConnection
from agent.node.host_ids import METADATA_LOG
from agent.quarantine.files import LostRange
from commitlog import ColumnIds, Schema
from sidecar.errors import SidecarError
from sidecar.logs import RateLimitedLog
from sidecar.offsets.properties_store import PropertiesStore
from sidecar.process.lifecycle import Worker

logger = logging.getLogger(__name__)

QUERY = f"SELECT epoch, kind, transformation FROM {METADATA_LOG}"
_RETRY_S = 2.0


def column_ids(rows: Iterable[Mapping[str, Any]]) -> ColumnIds:
    """The ids by the rows of the metadata log, which are in any order."""
    return ColumnIds(
        sorted((row["epoch"], row["kind"], bytes(row["transformation"])) for row in rows)
    )


class ColumnIdSource:
    """The latest ids; the thread reads them at its start and whenever they are requested."""

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
        """None before the node has answered."""
        self.error = ""
        """Why the last query failed; empty when it did not."""
        self.worker = Worker("accord", self._work)

    def request(self) -> None:
        """Reads the ids again. Any thread may call it."""
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
"""The file in `offset.backing.store.dir` with the position in the journal."""

Record = Callable[[SegmentName, LostRange], bool]


class AccordCapture:
    """The column ids and the journal of one node; the thread for the ids runs in a `with`."""

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
        """No id of the `known` segments is used again. The thread of the column ids calls `wake`.
        Raises OffsetStoreError and ConfigError for the stored position."""
        properties = config.properties
        self._config = config
        self._connection = connection
        self._node_id = node_id
        self._schema, self._refresh_schema = schema, refresh_schema
        self._store = PropertiesStore(
            properties.offset_directory, OFFSET_FILE, properties.topic_prefix
        )
        position = position_from_entries(self._store.load().values, node_id)
        used = max((name.id for name in known if is_own(name)), default=0)
        self._position = replace(position, next_id=max(position.next_id, used + 1))
        self._ids = ColumnIdSource(connection.rows, wake)

    def journal(self, record: Record) -> AccordJournal:
        """The journal's reader, for the thread of the pipeline."""
        properties = self._config.properties
        return AccordJournal(
            self._config.accord_journal_directory,
            self._config.cdc_raw_directory,
            self._position,
            properties.blocked_timeout_ms / 1000,
            JournalParts(
                schema=self._schema,
                refresh_schema=self._refresh_schema,
                column_ids=lambda: self._ids.ids,
                request_column_ids=self._ids.request,
                save=self._save,
                record=record,
                clock=time.monotonic,
            ),
        )

    def _save(self, position: JournalPosition) -> None:
        self._store.save(position.to_entries(self._node_id))

    def start(self) -> None:
        self._ids.worker.start()

    def close(self) -> None:
        self._ids.worker.stop()
        self._connection.close()

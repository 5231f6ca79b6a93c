"""The parts of the capture of transactions, put together."""

import time
from collections.abc import Callable, Iterable
from dataclasses import replace

from agent.accord.column_ids import ColumnIdSource
from agent.accord.journal import AccordJournal, JournalParts
from agent.accord.position import JournalPosition, position_from_entries
from agent.accord.raw_segments import is_own
from agent.cdc_raw.names import SegmentName
from agent.config.loader import AgentConfig
from agent.node.connection import NodeConnection
from agent.quarantine.reason import LostRange
from commitlog import Schema
from sidecar.offsets.properties_store import PropertiesStore

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

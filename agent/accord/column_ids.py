"""The ids by which transactions name columns, from the node's metadata log.

`system.local_metadata_log` has each schema change as a statement (Cassandra's AlterSchema). The
connection has a thread of its own, so that a node that does not answer stops nothing else.
"""

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from agent.node.host_ids import METADATA_LOG
from commitlog import ColumnIds
from sidecar.errors import SidecarError
from sidecar.logs import RateLimitedLog
from sidecar.process.worker import Worker

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

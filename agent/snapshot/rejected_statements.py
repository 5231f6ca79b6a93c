"""Statements that the node rejects, temporarily or finally."""

import time
from collections.abc import Callable

_FINAL_S = 5.0
"""A node shows a new table in `system_schema` before it accepts statements for it."""


class RejectedStatements:
    """By table, for the snapshot thread."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._first: dict[str, tuple[str, float]] = {}

    def __contains__(self, table_id: object) -> bool:
        return table_id in self._first

    def is_final(self, table_id: str, cql: str) -> bool:
        """Records a rejection. True when the node has rejected the same statement for 5 s; a
        different statement comes from a newer schema."""
        statement, since_s = self._first.get(table_id, ("", 0.0))
        if cql != statement:
            self._first[table_id] = (cql, self._clock())
            return False
        return self._clock() - since_s >= _FINAL_S

    def clear(self, table_id: str) -> None:
        """The node accepted a statement, or the snapshot ended."""
        self._first.pop(table_id, None)

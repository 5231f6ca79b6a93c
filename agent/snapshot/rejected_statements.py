"""Statements that the node does not take, for a moment or for good."""

import time
from collections.abc import Callable

_FINAL_S = 5.0
"""A node shows a table that is made in `system_schema` before it takes statements for it."""


class RejectedStatements:
    """By table, for the thread that copies."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` gives seconds."""
        self._clock = clock
        self._first: dict[str, tuple[str, float]] = {}

    def __contains__(self, table_id: object) -> bool:
        """Whether its last statement was refused."""
        return table_id in self._first

    def is_final(self, table_id: str, cql: str) -> bool:
        """Notes a refusal; True where the same statement has been refused for some seconds. Another
        statement is one of a schema that was read since."""
        statement, since_s = self._first.get(table_id, ("", 0.0))
        if cql != statement:
            self._first[table_id] = (cql, self._clock())
            return False
        return self._clock() - since_s >= _FINAL_S

    def over(self, table_id: str) -> None:
        """The node took one, or the copy is given up."""
        self._first.pop(table_id, None)

"""Tables that the snapshot cannot copy now: rejected statements, and pauses after errors."""

import time
from collections.abc import Callable, Mapping

from agent.snapshot.offsets import State, TableSnapshot

_FINAL_S = 5.0
"""A node shows a new table in `system_schema` before it accepts statements for it."""


class RejectedStatements:
    """Rejected statements by table. Only for the snapshot thread."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._first: dict[str, tuple[str, float]] = {}

    def __contains__(self, table_id: object) -> bool:
        return table_id in self._first

    def is_final(self, table_id: str, cql: str) -> bool:
        """Records a rejection. Returns True if the node has rejected the same statement for 5 s. A
        different statement comes from a newer schema."""
        statement, since_s = self._first.get(table_id, ("", 0.0))
        if cql != statement:
            self._first[table_id] = (cql, self._clock())
            return False
        return self._clock() - since_s >= _FINAL_S

    def clear(self, table_id: str) -> None:
        """Forgets a table, because a statement was accepted or the snapshot restarts or ends."""
        self._first.pop(table_id, None)


class PostponedTables:
    """Tables that wait for a retry. Only for the snapshot thread."""

    def __init__(self, pause_s: float, *, first_pause_s: float) -> None:
        """Pauses after failed reads of a table double from `first_pause_s` to `pause_s`."""
        self._pause_s = pause_s
        self._first_pause_s = first_pause_s
        self._tables: dict[str, tuple[float, str]] = {}
        self._failures: dict[str, int] = {}

    def postpone(self, table_id: str, reason: str) -> None:
        """`reason` is a message for the operator."""
        self._tables[table_id] = (time.monotonic() + self._pause_s, reason)

    def note_failure(self, table_id: str, reason: str) -> int:
        """Postpones a table after a failed read. Returns the failures since the latest success."""
        failures = self._failures[table_id] = self._failures.get(table_id, 0) + 1
        pause_s = min(self._pause_s, self._first_pause_s * 2 ** min(failures - 1, 30))
        self._tables[table_id] = (time.monotonic() + pause_s, reason)
        return failures

    def is_postponed(self, table_id: str) -> bool:
        """Whether the pause of a table still runs."""
        due_s, _ = self._tables.get(table_id, (0.0, ""))
        return time.monotonic() < due_s

    def clear(self, table_id: str) -> None:
        """Ends the pause, because the table can be copied or is finally rejected."""
        self._tables.pop(table_id, None)
        self._failures.pop(table_id, None)

    def pending(self, tables: Mapping[str, TableSnapshot]) -> tuple[str, float]:
        """Returns the reason of the first postponed table and the seconds until the next retry;
        empty and infinite if no table is postponed. Forgets tables that are not being copied."""
        self._tables = {
            table_id: entry
            for table_id, entry in self._tables.items()
            if table_id in tables and tables[table_id].state is State.COPYING
        }
        self._failures = {each: self._failures[each] for each in self._failures if each in tables}
        if not self._tables:
            return "", float("inf")
        reasons = [reason for _, reason in self._tables.values()]
        due_s = min(due_s for due_s, _ in self._tables.values())
        return reasons[0], max(0.0, due_s - time.monotonic())

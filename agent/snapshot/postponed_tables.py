"""Tables that are passed over for a while, so that others are copied meanwhile."""

import time
from collections.abc import Callable, Mapping

from agent.snapshot.offsets import State, TableSnapshot


class PostponedTables:
    """For the thread that copies."""

    def __init__(self, pause_s: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` gives seconds."""
        self._pause_s = pause_s
        self._clock = clock
        self._tables: dict[str, tuple[float, str]] = {}

    def put_off(self, table_id: str, reason: str) -> None:
        """`reason` is a sentence for people."""
        self._tables[table_id] = (self._clock() + self._pause_s, reason)

    def is_put_off(self, table_id: str) -> bool:
        """True until it is time to try again."""
        due_s, _ = self._tables.get(table_id, (0.0, ""))
        return self._clock() < due_s

    def over(self, table_id: str) -> None:
        """It can be copied, or is begun anew."""
        self._tables.pop(table_id, None)

    def look(self, copies: Mapping[str, TableSnapshot]) -> tuple[str, float]:
        """Why the first of those that are to be copied waits, and in how many seconds the next of
        them is tried; empty and infinite without any."""
        self._tables = {
            table_id: told
            for table_id, told in self._tables.items()
            if table_id in copies and copies[table_id].state is State.COPYING
        }
        if not self._tables:
            return "", float("inf")
        reasons = [reason for _, reason in self._tables.values()]
        due_s = min(due_s for due_s, _ in self._tables.values())
        return reasons[0], max(0.0, due_s - self._clock())

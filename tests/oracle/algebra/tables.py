"""Merged events of many tables."""

from collections.abc import Container, Mapping
from typing import Any

from tests.oracle.algebra.table import Table


class Tables:
    """One merged table for each table id; `counter_ids` are the ids of counter tables."""

    def __init__(self, *, counter_ids: Container[str] = ()) -> None:
        self.by_id: dict[str, Table] = {}
        self._counter_ids = counter_ids

    def apply(self, value: Mapping[str, Any]) -> None:
        """Merge the value of an event."""
        table_id = value["cells"]["id"]
        if table_id not in self.by_id:
            self.by_id[table_id] = Table(has_counters=table_id in self._counter_ids)
        self.by_id[table_id].apply(value)

    def of(self, table_id: object) -> Table:
        """The table with this id; empty without events."""
        return self.by_id.get(str(table_id), Table())

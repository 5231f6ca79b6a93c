"""Events of many tables."""

from collections.abc import Mapping
from typing import Any

from tests.merge.table import Table


class Tables:
    """One merged table for each table id that events name."""

    def __init__(self) -> None:
        self.by_id: dict[str, Table] = {}

    def apply(self, value: Mapping[str, Any]) -> None:
        """Take in the value of an event."""
        self.by_id.setdefault(value["cells"]["id"], Table()).apply(value)

    def of(self, table_id: object) -> Table:
        """The table with this id; an empty one where there was no event."""
        return self.by_id.get(str(table_id), Table())

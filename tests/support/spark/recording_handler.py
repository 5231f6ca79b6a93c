"""A target of a follower, in memory."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame

from spark_jobs.follow import Position
from spark_jobs.reconcile.source_table import SourceTable
from spark_jobs.reconcile.store import Offsets

Call = tuple[str, Position | None, Position, Offsets, int]


class RecordingHandler:
    """The rows of source tables. Verifies that each change follows the one before it."""

    def __init__(self, *, each: bool = False, has_snapshot: bool = True) -> None:
        self.each = each
        self.has_snapshot = has_snapshot
        self.crashes = False
        """Whether the process ends after the next batch is applied."""
        self.positions: dict[str, Position] = {}
        self.rows: dict[str, dict[bytes, Any]] = {}
        self.changes: list[list[dict[str, Any]]] = []
        """The changes of each call, in the order of their numbers."""
        self.calls: list[Call] = []

    def interrupted(self, table: SourceTable) -> None:
        return None

    def finish(self, table: SourceTable, changes: DataFrame, counts: Mapping[str, int]) -> None:
        raise AssertionError("no batch is interrupted")

    def position(self, table: SourceTable) -> Position | None:
        return self.positions.get(table.id)

    def apply(
        self,
        table: SourceTable,
        changes: DataFrame,
        counts: Mapping[str, int],
        before: Position | None,
        after: Position,
        offsets: Offsets,
    ) -> None:
        rows = self.rows.setdefault(table.id, {})
        # `collect` fails before Spark 4.1: a blob is a bytearray there, which is no key of a dict.
        found = sorted(changes.toArrow().to_pylist(), key=lambda row: row["seq"])
        for change in found:
            row_id = bytes(change["cdc_row_id"])
            was, now = rows.pop(row_id, None), change["after"]
            assert _is_same(change["before"], was), change
            if now is not None:
                rows[row_id] = now
            assert change["op"] == ("d" if now is None else "u" if was else "c")
        assert Counter(change["op"] for change in found) == Counter(counts)
        self.changes.append(found)
        self.positions[table.id] = after
        self.calls.append((table.id, before, after, offsets, len(found)))
        if self.crashes:
            raise KeyboardInterrupt


def _is_same(before: Mapping[str, Any] | None, was: Mapping[str, Any] | None) -> bool:
    """Whether a row has the values that the target has, of columns that both schemas have."""
    if before is None or was is None:
        return before is was
    return all(before[name] == was[name] for name in before.keys() & was.keys())

"""Stores the schema with which a follower has read each table, in small files in its folder.

After a schema change that affects visible rows, such as a dropped column, the follower compares the
whole table once. The file contains the new schema and the position after which it applies. So a
crash between the commit of the target and the update of the file does not repeat the comparison.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import TypeAdapter

from spark_jobs.follow.plan import Position
from spark_jobs.reconcile.source_table import (
    SourceSchema,
    SourceTable,
    from_stored_table,
    stored_table,
)
from spark_jobs.reconcile.visible_rows import merger_of
from spark_jobs.storage import Folder


@dataclass(frozen=True, slots=True)
class KnownSchema:
    """The stored descriptions of a table."""

    current: str
    """The description up to the position of the target."""
    following: str | None = None
    """The description after the position `since`, if it differs."""
    since: Position | None = None

    def at(self, position: Position) -> str:
        """The description that applied when the target reached a position."""
        if self.following is None or position == self.since:
            return self.current
        return self.following


_KNOWN = TypeAdapter(KnownSchema)


class KnownSchemas:
    def __init__(self, folder: Folder, schema: SourceSchema) -> None:
        self._folder = folder
        self._schema = schema

    def earlier(self, table: SourceTable, position: Position) -> SourceSchema | None:
        """The schema of a target's rows, if the current schema shows different rows."""
        now = stored_table(self._schema, table)
        known = self._read(table)
        if known is None:
            self._write(table, KnownSchema(now))
            return None
        text = known.at(position)
        earlier = _describe(text, table)
        if _shows_the_same(earlier, self._schema, table):
            self._write(table, KnownSchema(now))
            return None
        self._write(table, KnownSchema(text, now, position))
        return earlier

    def of_batch(
        self, table: SourceTable, before: Position | None
    ) -> tuple[SourceSchema, SourceSchema | None]:
        """The schema of a batch that was begun at a position, possibly by an earlier run; and the
        schema of the rows before it, if the batch is a comparison."""
        known = self._read(table)
        if known is None:
            return self._schema, None
        current = _describe(known.current, table)
        if known.following is None:
            return current, None
        following = _describe(known.following, table)
        return following, current if before == known.since else None

    def followed(self, table: SourceTable) -> None:
        """Record that the target has, or will soon have, the rows that the current schema shows."""
        self._write(table, KnownSchema(stored_table(self._schema, table)))

    def _read(self, table: SourceTable) -> KnownSchema | None:
        if not self._folder.exists(_name(table)):
            return None
        return _KNOWN.validate_json(self._folder.read_text(_name(table)))

    def _write(self, table: SourceTable, known: KnownSchema) -> None:
        self._folder.write_text(_name(table), json.dumps(asdict(known)))


def _shows_the_same(earlier: SourceSchema, schema: SourceSchema, table: SourceTable) -> bool:
    (before,) = earlier.tables
    types = (merger_of(earlier, before).typed_schema, merger_of(schema, table).typed_schema)
    return types[0].equals(types[1]) and dict(before.dropped) == dict(table.dropped)


def _describe(text: str, table: SourceTable) -> SourceSchema:
    return from_stored_table(text, Path(_name(table)))


def _name(table: SourceTable) -> str:
    return f"schema-{table.id}.json"

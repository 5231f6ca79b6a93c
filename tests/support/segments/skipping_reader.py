"""A segment reader that skips the updates of tables that its schema does not have."""

from typing import Any

import commitlog


class SkippingReader:
    """Gives up each unknown table when it blocks a read. Events of other tables are not lost."""

    def __init__(self, reader: commitlog.SegmentReader) -> None:
        self.reader = reader
        self._abandoned: list[tuple[str, str | None]] = []

    def read(
        self, schema: commitlog.Schema, event_format: commitlog.EventFormat, **options: Any
    ) -> tuple[commitlog.EventBatch, commitlog.Blocked | None]:
        """The next batch, and its block unless an unknown table is the cause."""
        batch = self.reader.read(schema, event_format, abandoned=self._abandoned, **options)
        blocked = batch.blocked
        if blocked is None or blocked.column is not None or blocked.unregistered:
            return batch, blocked
        if any(table.id == blocked.table_id for table in schema.tables()):
            return batch, blocked
        self._abandoned.append((blocked.table_id, None))
        return batch, None

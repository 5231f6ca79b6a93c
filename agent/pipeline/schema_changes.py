"""Creates messages for the schema-change topic, in order with the events of the log.

A message follows the events that precede its change in the log, and precedes the first event that
needs it. The agent follows the log, because the node's schema is ahead of it. If the log no longer
contains a change, the agent announces it when a record needs it.
"""

from collections import deque
from collections.abc import Sequence

from agent.cdc_raw.names import SegmentName
from agent.metrics import AgentMetrics
from agent.schema.history import AnnouncementStore
from agent.watermark.message import PlainBatch
from commitlog import AnnouncedSchema, EventFormat, Schema, SchemaChanges
from sidecar.events import Message


class SchemaAnnouncer:
    """Tracks announcements: read, acknowledged and stored. Only for the pipeline's thread."""

    def __init__(
        self,
        event_format: EventFormat,
        topic: str,
        store: AnnouncementStore,
        *,
        metrics: AgentMetrics,
    ) -> None:
        self._format = event_format
        self._topic = topic
        self._store = store
        self._metrics = metrics
        self._stored = self._acknowledged = self.announced = store.load()
        """The schema after all created messages; None before the first message."""
        self._pending: deque[tuple[int, AnnouncedSchema]] = deque()

    def begin(self, schema: Schema) -> PlainBatch:
        """Announces all tables of the schema as created, at the first start."""
        announced, messages = AnnouncedSchema.initial(schema, self._format, self._topic)
        return self._batch(announced, messages, 0, 1)

    def change(self, changes: SchemaChanges, name: SegmentName, start: int, end: int) -> PlainBatch:
        """Announces the changes in a record between two positions of a segment."""
        assert self.announced is not None
        announced, messages = self.announced.changed(
            changes,
            self._format,
            self._topic,
            segment=name.log,
            segment_id=name.id,
            position=end,
        )
        return self._batch(announced, messages, start, end)

    def complete(
        self, table_id: str, schema: Schema, name: SegmentName, position: int
    ) -> PlainBatch:
        """Announces the definition in `schema` of a table that the next record needs."""
        assert self.announced is not None
        announced, messages = self.announced.with_table(
            schema,
            table_id,
            self._format,
            self._topic,
            segment=name.log,
            segment_id=name.id,
            position=position,
        )
        return self._batch(announced, messages, position, position)

    def note_added(self, last_number: int) -> None:
        """Notes that the latest batch is in the window, with numbers below `last_number`."""
        assert self.announced is not None
        self._pending.append((last_number, self.announced))

    def acknowledge(self, watermark: int) -> None:
        """Notes that all messages with numbers below `watermark` are acknowledged."""
        while self._pending and self._pending[0][0] <= watermark:
            _, self._acknowledged = self._pending.popleft()

    def save(self) -> bool:
        """Stores acknowledged announcements. Returns False if it fails; offsets must then wait."""
        acknowledged = self._acknowledged
        if acknowledged is None or acknowledged is self._stored:
            return True
        if not self._store.save(acknowledged):
            return False
        self._stored = acknowledged
        return True

    def rewind(self) -> None:
        """Returns to the acknowledged announcements, because the log is read again from there."""
        self._pending.clear()
        self.announced = self._acknowledged

    def _batch(
        self, announced: AnnouncedSchema, messages: Sequence[Message], start: int, end: int
    ) -> PlainBatch:
        self.announced = announced
        self._metrics.schema_changes.inc(len(messages))
        return PlainBatch(messages, start, end)

"""Announces all tables at the first start, before any event."""

from agent.pipeline.context import PipelineContext
from agent.pipeline.schema_changes import SchemaStart


class AnnounceStep:
    def __init__(self, context: PipelineContext) -> None:
        self._context = context

    def tick(self) -> bool:
        """Adds the messages once the schema is known; nothing is read before."""
        context, announcer = self._context, self._context.announcer
        if announcer is None or announcer.announced is not None or not context.delivery.is_open:
            return False
        schema = context.schema.current()
        if schema is None:
            return False
        context.announce(SchemaStart(), announcer.begin(schema), 0)
        return True

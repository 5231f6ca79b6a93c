"""Notes acknowledged positions and keeps events that the sink rejects."""

import logging
from functools import partial

from agent.pipeline.context import PipelineContext
from agent.pipeline.schema_changes import SchemaStart
from agent.pipeline.segment_disposer import EventSource
from agent.segments.state import after_acknowledgement
from agent.snapshot.partition import SnapshotPartition
from agent.watermark.message import WatermarkSource
from sidecar.delivery.delivery import RejectedEvent
from sidecar.logs import fields

logger = logging.getLogger(__name__)


class AcknowledgeStep:
    def __init__(self, context: PipelineContext) -> None:
        self._context = context

    def advance(self) -> bool:
        """Notes up to which position segments and snapshots are acknowledged."""
        context = self._context
        moved = context.delivery.progress()
        if context.announcer is not None:
            context.announcer.acknowledge(context.delivery.window.watermark)
        for progress in moved:
            source, position = progress.source, progress.position
            if isinstance(source, SnapshotPartition):
                if context.snapshot is not None:
                    context.snapshot.acknowledge(source, position)
                continue
            if isinstance(source, SchemaStart | WatermarkSource):
                continue
            segment = context.segments.get(source)
            if segment is not None and not segment.is_reported:
                # The position of a lost segment is forgotten when the loss is on record.
                context.offsets.advance(source, position, segment.fingerprint)
            context.metrics.acknowledged(source.id, position)
            context.segments.change(source, partial(after_acknowledgement, position=position))
        return bool(moved)

    def keep_dead_letter(self, rejected: RejectedEvent[EventSource, int]) -> bool:
        """Keeps a dead letter; False when the quarantine cannot be written for now."""
        context = self._context
        if isinstance(rejected.source, WatermarkSource):
            # The next watermark says more than this one.
            logger.warning("the sink rejected a watermark", extra=fields(reason=rejected.reason))
            return True
        if not context.can_record:
            return False
        if context.disposer.keep_dead_letter(rejected):
            return True
        context.record_later()
        return False

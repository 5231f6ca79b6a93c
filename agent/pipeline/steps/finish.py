"""Notes acknowledged positions, stores rejected events, and removes finished segments.

A segment leaves `cdc_raw` after it is stored as completed.
"""

import logging
from collections.abc import Iterable
from functools import partial
from itertools import islice

from agent.cdc_raw.names import SegmentName
from agent.pipeline.context import PipelineContext
from agent.pipeline.directory_scanner import pause_s
from agent.pipeline.segment_disposer import EventSource
from agent.segments.state import after_acknowledgement
from agent.snapshot.plan import SnapshotPartition
from agent.watermark.message import WATERMARK, PlainSource
from sidecar.dead_letters.dead_letter import RejectedEvent
from sidecar.logs import fields

logger = logging.getLogger(__name__)

_RETRY_S = 1.0
_MOST_RETRIES = 64
"""Maximum number of deferred segments per retry."""
_LONGEST_PAUSE_S = 1.0
"""Longest pause after a long save. A save writes all offsets, so segments that finish meanwhile
share the next save."""


class AcknowledgeStep:
    def __init__(self, context: PipelineContext) -> None:
        self._context = context

    def advance(self) -> bool:
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
            if isinstance(source, PlainSource):
                continue
            segment = context.segments.get(source)
            if segment is not None and not segment.is_reported:
                # Once a loss is recorded, the position of the lost segment is forgotten.
                context.offsets.advance(source, position, segment.fingerprint)
            context.metrics.acknowledged_segment.set(source.id)
            context.metrics.acknowledged_position.set(position)
            context.segments.change(source, partial(after_acknowledgement, position=position))
        return bool(moved)

    def keep_dead_letter(self, rejected: RejectedEvent[EventSource, int]) -> bool:
        """Stores a dead letter; returns False if the quarantine is not writable for now."""
        context = self._context
        if rejected.source == WATERMARK:
            # The next watermark supersedes this watermark.
            logger.warning("the sink rejected a watermark", extra=fields(reason=rejected.reason))
            return True
        return context.disposer.can_record and context.disposer.keep_dead_letter(rejected)


class DisposeStep:
    def __init__(self, context: PipelineContext) -> None:
        self._context = context
        self._deferred: dict[SegmentName, None] = {}
        """Segments that stayed in `cdc_raw`, in the order of retries."""
        self._retry_s = self._save_s = context.clock()

    @property
    def due_in_s(self) -> float | None:
        """Seconds until finished segments may leave; None without finished segments."""
        if not self._context.segments.drained:
            return None
        return max(0.0, self._save_s - self._context.clock())

    def tick(self) -> bool:
        context, now_s = self._context, self._context.clock()
        finished = context.segments.drained
        if finished and now_s >= self._save_s and self._save(finished):
            return self._dispose(finished)
        if self._deferred and now_s >= self._retry_s:
            names = tuple(islice(self._deferred, _MOST_RETRIES))
            for name in names:
                context.change(name, is_deferred=False)
            return self._dispose(names)
        return False

    def _save(self, names: Iterable[SegmentName]) -> bool:
        context, began_s = self._context, self._context.clock()
        context.offsets.finish(names, present=context.segments)
        is_stored = context.offsets.save(at_once=True)
        now_s = context.clock()
        self._save_s = now_s + (
            pause_s(now_s - began_s, _LONGEST_PAUSE_S) if is_stored else _RETRY_S
        )
        return is_stored

    def _dispose(self, names: Iterable[SegmentName]) -> bool:
        """Removes segments that are stored as completed; returns True if it removed any."""
        context = self._context
        has_removed = False
        for name in names:
            self._deferred.pop(name, None)
            segment = context.segments.get(name)
            is_stored = context.offsets.stored.is_completed(name)
            if segment is None or not segment.is_drained or not is_stored:
                continue
            if context.read_worker.is_replaced(name):
                self._read_again(name)
                continue
            context.scanner.begin_removal(name)
            if context.disposer.dispose(name):
                context.scanner.end_removal(segment)
                context.read_worker.forget(name)
                if context.settings.tracing is not None:
                    context.settings.tracing.finished(str(name))
                context.segments.remove(name)
                has_removed = True
            else:
                context.change(name, is_deferred=True)
                self._deferred[name] = None
                self._retry_s = context.clock() + _RETRY_S
        return has_removed

    def _read_again(self, name: SegmentName) -> None:
        """Restarts a segment, because a different, unread file has replaced it."""
        context = self._context
        logger.warning(
            "a different file has replaced a finished segment; the agent reads it from the "
            "beginning",
            extra=fields(segment=name),
        )
        context.read_worker.forget(name)
        context.offsets.forget(name)
        context.segments.remove(name)
        context.offsets.save(at_once=True)
        context.scanner.request()

"""Finds segments to read: requeues quarantined segments, and scans `cdc_raw`.

Scans also record segments that vanished unread.
"""

import logging

from agent.cdc_raw.names import SegmentName
from agent.cdc_raw.observation import Observation
from agent.metrics import VANISHED
from agent.pipeline.context import PipelineContext
from agent.pipeline.segment_disposer import VANISHED_CAUSE
from agent.quarantine.files import LostRange
from agent.segments.awaited_files import PATIENCE_S, AwaitedFiles
from agent.segments.plan import DeletedUnread, find_deleted_unread, known_names, next_known
from sidecar.logs import fields

logger = logging.getLogger(__name__)

_REQUEUE_INTERVAL_S = 5.0
_MOST_REQUEUED = 64


class RequeueStep:
    """Requeues segments. First the agent forgets the offset, then `agent.quarantine.requeue` moves
    the segment, so the request survives a crash. Until then, scans ignore its files."""

    def __init__(self, context: PipelineContext) -> None:
        self._context = context
        self._next_s = context.clock()
        self.names: frozenset[SegmentName] | None = None
        """Segments between the quarantine and `cdc_raw`, whose files scans ignore; None until the
        quarantine has been read."""

    def tick(self) -> bool:
        """Requeues requested segments; returns True if it moved any."""
        context, now_s = self._context, self._context.clock()
        if now_s < self._next_s:
            return False
        self._next_s = now_s + _REQUEUE_INTERVAL_S
        requests = context.disposer.requests()
        if requests is None:
            return False
        if self.names is None:
            context.disposer.remove_temporaries()
        waiting = [
            name for name, is_here in requests.items() if is_here and not self._is_there(name)
        ]
        self.names = frozenset(waiting)
        for name in (name for name, is_here in requests.items() if not is_here):
            context.disposer.end_request(name)
        if len(waiting) > _MOST_REQUEUED:
            self._next_s = now_s
        # Share one save, because each save writes all offsets.
        for name in waiting[:_MOST_REQUEUED]:
            context.offsets.forget(name)
        if not waiting or not context.offsets.save(at_once=True):
            return False
        return any([self._requeue(name) for name in waiting[:_MOST_REQUEUED]])

    def _is_there(self, name: SegmentName) -> bool:
        """Whether a segment is in `cdc_raw` or open in a reader."""
        segment = self._context.segments.get(name)
        return segment is not None and (segment.log is not None or segment.is_opened)

    def _requeue(self, name: SegmentName) -> bool:
        context = self._context
        if not context.disposer.requeue(name):
            return False
        assert self.names is not None
        self.names -= {name}
        context.segments.remove(name)
        context.scanner.request()
        context.blocked_read.ask_again()
        return True


class ScanStep:
    def __init__(self, context: PipelineContext, requeue: RequeueStep) -> None:
        self._context = context
        self._requeue = requeue
        self._is_first = True
        self._unseen: DeletedUnread | None = None
        self._awaited = AwaitedFiles()

    @property
    def due_in_s(self) -> float | None:
        """Seconds until a scan for an awaited file is due; None without such a file."""
        return self._awaited.due_in_s(self._context.clock())

    def tick(self) -> bool:
        context = self._context
        if self.due_in_s == 0.0:
            context.scanner.request()
        # Without the requests, a segment that was half moved could be mistaken for a whole segment.
        if context.scanner.due_in_s > 0 or self._requeue.names is None:
            return False
        began_s = context.clock()
        is_periodic = not context.scanner.is_requested
        observation = context.scanner.scan(context.segments.is_completed)
        if observation is None:
            return False
        observation = observation.without(self._requeue.names)
        if self._is_first:
            self._is_first = False
            self._unseen = find_deleted_unread(
                context.offsets.reached, observation, context.settings.deletes_at_bytes
            )
        self._await_files(observation)
        context.segments.observe(
            observation,
            context.offsets.reached,
            retry=is_periodic,
            awaited=self._awaited.names,
        )
        context.disposer.forget_others(context.segments)
        self._record_losses()
        context.scanner.pause_after(context.clock() - began_s)
        return True

    def _await_files(self, observation: Observation) -> None:
        context, before = self._context, self._awaited.names
        self._awaited = self._awaited.after(
            observation, context.segments, context.offsets.reached, context.clock()
        )
        for name in sorted(self._awaited.names - before):
            logger.info(
                "the index of a segment arrived in cdc_raw before its file; the agent waits for "
                "the file before it reads newer segments",
                extra=fields(segment=name, at_most_s=PATIENCE_S),
            )

    def _record_losses(self) -> None:
        context = self._context
        if self._unseen is not None:
            ranges = (LostRange(0, None, _cause_unseen(self._unseen)),)
            if context.disposer.record(self._unseen.first, ranges, VANISHED):
                self._unseen = None
        losses, ledger = context.segments.lost, context.offsets.reached
        if self._unseen is None and not losses:
            context.disposer.resolve_loss(VANISHED)
        known = known_names(context.segments, ledger) if losses else ()
        for lost in losses:
            cause = _cause(lost.name, next_known(lost.name, known))
            ranges = (LostRange(lost.read_position, None, cause),)
            if context.disposer.record(lost.name, ranges, VANISHED):
                context.change(lost.name, is_reported=True)
                # The quarantine now contains the loss. A position without a segment would be
                # reported at each start, even after the operator discarded the loss.
                context.offsets.forget(lost.name)


def _cause(name: SegmentName, following: SegmentName | None) -> str:
    if following is None or following.id == name.id + 1:
        return VANISHED_CAUSE
    return (
        f"{VANISHED_CAUSE}; the agent saw no segment between it and {following}, so the node may "
        "have deleted others unread"
    )


def _cause_unseen(unseen: DeletedUnread) -> str:
    return (
        "cdc_raw was full with cdc_block_writes: false while the agent was stopped; the node may "
        f"have deleted segments unread before {unseen.following}"
    )

"""Scans `cdc_raw` when that is due, and records segments that vanished unread."""

import logging

from agent.cdc_raw.names import SegmentName
from agent.cdc_raw.observation import Observation
from agent.metrics import VANISHED
from agent.pipeline.context import PipelineContext
from agent.pipeline.segment_disposer import VANISHED_CAUSE
from agent.quarantine.reason import LostRange
from agent.segments.awaited_files import PATIENCE_S, AwaitedFiles
from agent.segments.plan import DeletedUnread, find_deleted_unread, known_names, next_known
from sidecar.logs import fields

logger = logging.getLogger(__name__)


class ScanStep:
    def __init__(self, context: PipelineContext) -> None:
        self._context = context
        self._is_first = True
        self._unseen: DeletedUnread | None = None
        self._awaited = AwaitedFiles()

    @property
    def due_in_s(self) -> float | None:
        """When a scan for an awaited file is due; None without one."""
        return self._awaited.due_in_s(self._context.clock())

    def tick(self) -> bool:
        context = self._context
        if self.due_in_s == 0.0:
            context.scanner.request()
        # Without the requests, half of a segment after a kill could pass for a whole one.
        if context.scanner.due_in_s > 0 or context.requeueing is None:
            return False
        began_s = context.clock()
        is_periodic = not context.scanner.is_requested
        observation = context.scanner.scan(context.segments.is_completed)
        if observation is None:
            return False
        observation = observation.without(context.requeueing)
        if self._is_first:
            self._is_first = False
            self._unseen = find_deleted_unread(
                context.offsets.ledger, observation, context.settings.deletes_at_bytes
            )
        self._await_files(observation)
        context.segments.observe(
            observation,
            context.offsets.ledger,
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
            observation, context.segments, context.offsets.ledger, context.clock()
        )
        for name in sorted(self._awaited.names - before):
            logger.info(
                "the index of a segment is in cdc_raw before its file; the agent waits for the "
                "file and reads newer segments after it",
                extra=fields(segment=name, at_most_s=PATIENCE_S),
            )

    def _record_losses(self) -> None:
        context = self._context
        if self._unseen is not None:
            ranges = (LostRange(0, None, _cause_unseen(self._unseen)),)
            if context.disposer.record(self._unseen.first, ranges, VANISHED):
                self._unseen = None
        losses, ledger = context.segments.lost, context.offsets.ledger
        if self._unseen is None and not losses:
            context.disposer.loss_resolved(VANISHED)
        known = known_names(context.segments, ledger) if losses else ()
        for lost in losses:
            cause = _cause(lost.name, next_known(lost.name, known))
            ranges = (LostRange(lost.read_position, None, cause),)
            if context.disposer.record(lost.name, ranges, VANISHED):
                context.change(lost.name, is_reported=True)
                # The record holds the loss from now on. A position without a segment would be
                # reported again at each start, also after the operator discarded the record.
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

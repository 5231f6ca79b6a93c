"""Handles a blocked segment: waits, requests a schema or ids, and gives up after the timeout."""

import logging
from functools import partial

from agent.cdc_raw.names import SegmentName
from agent.metrics import UNREADABLE
from agent.pipeline.blocked_read import Action, Obstacle
from agent.pipeline.context import PipelineContext
from agent.quarantine.files import LostRange
from sidecar.logs import RateLimitedLog, fields

logger = logging.getLogger(__name__)


class BlockedStep:
    def __init__(self, context: PipelineContext) -> None:
        self._context = context
        self._repeated = RateLimitedLog(logger)
        self._key = ""

    def begin(self, obstacle: Obstacle) -> None:
        obstacle = self._context.blocked_read.begin(obstacle)
        self._context.change(obstacle.name, is_blocked=True)
        key = f"{obstacle.name} {obstacle.position}"
        if key != self._key:
            self._repeated.resolved(self._key, "reading continues")
            self._key = key
        self._repeated.log(
            key,
            "a segment is blocked",
            segment=obstacle.name,
            position=obstacle.position,
            reason=obstacle.message,
        )

    def end(self, name: SegmentName) -> None:
        """Logs that a read of the segment met no obstacle."""
        self._repeated.resolved(self._key, "reading continues", segment=name)

    def tick(self) -> bool:
        context = self._context
        obstacle = context.blocked_read.obstacle
        if obstacle is None:
            return False
        segment = context.segments.get(obstacle.name)
        if segment is None or not segment.is_blocked:
            context.blocked_read.end()
            return True
        if context.read_worker.is_busy:
            return False
        answer = context.registrar.registration(obstacle.unregistered)
        match context.blocked_read.step(context.schema.current(), context.clock(), answer):
            case Action.READ:
                context.blocked_read.end()
                context.change(obstacle.name, is_blocked=False)
                if obstacle.is_again:
                    logger.info(
                        "the schema registry accepts the schemas of a table again; run `agent "
                        "quarantine retry --all` for its quarantined segments",
                        extra=fields(
                            segment=obstacle.name, schema=obstacle.unregistered[-1].record
                        ),
                    )
            case Action.ASK:
                context.blocked_read.note_question(context.clock())
                context.read_worker.refresh(partial(context.schema.refresh, obstacle.message))
            case Action.REGISTER:
                context.blocked_read.note_question(context.clock())
                context.read_worker.refresh(
                    partial(context.registrar.try_register, obstacle.unregistered)
                )
            case Action.ABANDON:
                return self._abandon(context.blocked_read.obstacle or obstacle)
            case Action.WAIT:
                return False
        return True

    def _abandon(self, obstacle: Obstacle) -> bool:
        context = self._context
        if not context.disposer.can_record:
            return False
        if obstacle.missing is None:
            lost = LostRange(obstacle.position, None, obstacle.message)
            if not context.disposer.record(obstacle.name, (lost,), UNREADABLE):
                return False
            context.close_reader(obstacle.name)
            context.change(obstacle.name, is_unreadable=True)
        context.blocked_read.abandon(context.clock())
        context.change(obstacle.name, is_blocked=False)
        if not obstacle.is_again:
            logger.warning(
                "a segment was blocked for too long; the agent quarantines its unreadable part",
                extra=fields(
                    segment=obstacle.name, position=obstacle.position, reason=obstacle.message
                ),
            )
        return True

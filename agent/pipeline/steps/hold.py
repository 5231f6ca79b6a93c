"""Holds a segment whose next record cannot be read for now, asks for what it lacks, and in the end
gives up what does not come."""

import logging
from functools import partial

from agent.cdc_raw import SegmentName
from agent.metrics import UNREADABLE
from agent.pipeline.holding import Hold, Step
from agent.pipeline.parts import Parts
from agent.pipeline.reader import Blocked
from agent.quarantine import LostRange
from commitlog import Schema
from sidecar.logs import Repeated, fields

logger = logging.getLogger(__name__)


class HoldStep:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._repeated = Repeated(logger)
        self._key = ""

    def begin_blocked(self, name: SegmentName, blocked: Blocked, schema: Schema) -> None:
        """A record needs a table or a column that the schema lacks."""
        parts = self._parts
        self._begin(parts.holding.begin_blocked(name, blocked, schema, parts.clock()))

    def begin_failed(
        self, name: SegmentName, position: int, message: str, schema: Schema, *, is_bounded: bool
    ) -> None:
        """The file cannot be read; without end where the wait is not bounded."""
        parts = self._parts
        hold = parts.holding.begin_failed(
            name, position, message, schema, parts.clock(), is_bounded=is_bounded
        )
        self._begin(hold)

    def reading_goes_on(self, name: SegmentName) -> None:
        """A read met nothing that holds its segment."""
        self._repeated.over(self._key, "reading goes on", segment=name)

    def turn(self) -> bool:
        """Does what is to be done about the hold, if there is one."""
        parts = self._parts
        hold = parts.holding.hold
        if hold is None:
            return False
        segment = parts.segments.get(hold.name)
        if segment is None or not segment.is_held:
            parts.holding.end()
            return True
        if parts.reading.is_busy:
            return False
        answer = parts.registrar.answer(hold.unregistered)
        match parts.holding.step(parts.schema.current(), parts.clock(), answer):
            case Step.READ:
                parts.holding.end()
                parts.change(hold.name, is_held=False)
                if hold.is_again:
                    logger.info(
                        "the schema registry takes the schemas of a table again; `agent segments "
                        "retry` has what was given up read",
                        extra=fields(segment=hold.name, schema=hold.unregistered[-1].record),
                    )
            case Step.ASK:
                parts.holding.asked(parts.clock())
                parts.reading.refresh(partial(parts.schema.refresh, hold.sentence))
            case Step.REGISTER:
                parts.holding.asked(parts.clock())
                parts.reading.refresh(partial(parts.registrar.register, hold.unregistered))
            case Step.GIVE_UP:
                return self._give_up(parts.holding.hold or hold)
            case Step.WAIT:
                return False
        return True

    def _begin(self, hold: Hold) -> None:
        self._parts.change(hold.name, is_held=True)
        key = f"{hold.name} {hold.position}"
        if key != self._key:
            self._repeated.over(self._key, "reading goes on")
            self._key = key
        self._repeated.say(
            key,
            "a segment is held",
            segment=hold.name,
            position=hold.position,
            reason=hold.sentence,
        )

    def _give_up(self, hold: Hold) -> bool:
        parts = self._parts
        if not parts.can_record:
            return False
        if hold.missing is None:
            lost = LostRange(hold.position, None, hold.sentence)
            if not parts.leaving.record(hold.name, (lost,), UNREADABLE):
                parts.record_later()
                return False
            parts.close_reader(hold.name)
            parts.change(hold.name, is_unreadable=True)
        parts.holding.give_up(parts.clock())
        parts.change(hold.name, is_held=False)
        if not hold.is_again:
            logger.warning(
                "a segment was held for too long; what cannot be read is given up",
                extra=fields(segment=hold.name, position=hold.position, reason=hold.sentence),
            )
        return True

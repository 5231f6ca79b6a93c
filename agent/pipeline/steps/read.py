"""Takes the read that is done, deals with what it met, and begins the next one.

Never two reads at a time: where the next one begins, with which schema, and what it passes over
follows from what the one before it met.
"""

import logging
from functools import partial

from agent.cdc_raw import SegmentName
from agent.pipeline.losses import losses, may_pass
from agent.pipeline.parts import Parts
from agent.pipeline.read_errors import is_environmental, read_error_message
from agent.pipeline.reader import Batch
from agent.pipeline.reading import ReadResult
from agent.pipeline.steps.hold import HoldStep
from agent.segments import Read
from agent.segments.state import read
from commitlog import Schema
from sidecar.logs import fields

logger = logging.getLogger(__name__)

_SCHEMA_UNREADABLE = "schema_unreadable"


class ReadStep:
    def __init__(self, parts: Parts, hold: HoldStep) -> None:
        self._parts = parts
        self._hold = hold
        self._result: ReadResult | None = None

    @property
    def is_waiting(self) -> bool:
        """True when a read is done that cannot be put on record for now."""
        return self._result is not None

    def abandon(self) -> None:
        """Forgets what was read and is not taken, also a read that goes on."""
        self._parts.reading.abandon()
        self._result = None

    def start(self) -> bool:
        """Begins the next read."""
        parts, settings, schema = self._parts, self._parts.settings, self._parts.schema.current()
        if parts.is_stopping or schema is None or not parts.delivery.is_open:
            return False
        if self.is_waiting or parts.reading.is_busy or not parts.delivery.wants_more:
            return False
        if not parts.has_room:
            return False
        order = parts.segments.next_read
        if order is None:
            return False
        self._close_others(order.name)
        parts.reading.start(
            order,
            schema,
            settings.read_max_events,
            settings.read_max_bytes,
            parts.holding.given_up(parts.clock()),
        )
        return True

    def take(self) -> bool:
        """Takes the read that is done, once what gave no events in it is on record."""
        parts = self._parts
        if self._result is None:
            self._result = parts.reading.take()
        result = self._result
        if result is None or not parts.can_record:
            return False
        if not self._put_gaps_on_record(result):
            parts.record_later()
            return False
        self._result = None
        name = result.order.name
        parts.change(name, is_opened=parts.reading.is_opened(name))
        if result.batch is not None:
            self._take_batch(result.order, result.batch, result.schema)
        elif result.error is not None:
            self._take_error(result.order, result.error, result.schema)
        return True

    def _take_batch(self, order: Read, batch: Batch, schema: Schema) -> None:
        parts, metrics, name = self._parts, self._parts.metrics, order.name
        for (table, op), count in batch.counts.items():
            metrics.events.labels(table, op).inc(count)
        for reason, count in batch.skipped.items():
            metrics.skipped_updates.labels(reason).inc(count)
        metrics.mutations.inc(batch.mutations)
        metrics.reached(name.id, batch.end_position)
        parts.delivery.add(name, batch, order.position)
        parts.segments = parts.segments.changed(
            name,
            partial(read, order=order, position=batch.end_position, at_end=batch.stop == "end"),
        )
        if batch.schema_changes is not None:
            parts.schema.absorb(batch.schema_changes)
        if batch.skipped.get(_SCHEMA_UNREADABLE):
            reason = "a change of schema in the log cannot be read"
            logger.warning(
                "a change of schema in the commit log cannot be read; the node is asked for its "
                "schema",
                extra=fields(segment=name, up_to=batch.end_position),
            )
            parts.reading.refresh(partial(parts.schema.refresh, reason))
        if batch.blocked is not None:
            self._hold.begin_blocked(name, batch.blocked, schema)
            return
        self._hold.reading_goes_on(name)
        if order.complete and batch.stop == "end":
            parts.close_reader(name)

    def _take_error(self, order: Read, error: BaseException, schema: Schema) -> None:
        """The file may come back, a live one may get its header; the rest is on record."""
        parts = self._parts
        if isinstance(error, FileNotFoundError):
            parts.looking.want()
        if may_pass(order, error):
            self._hold.begin_failed(
                order.name,
                order.position,
                read_error_message(parts.settings.cdc_raw_directory / order.name.log, error),
                schema,
                is_bounded=not is_environmental(error),
            )
            return
        parts.close_reader(order.name)
        parts.change(order.name, is_unreadable=True)

    def _put_gaps_on_record(self, result: ReadResult) -> bool:
        """True when everything of the read that gave no events is on record."""
        leaving, name = self._parts.leaving, result.order.name
        return all(leaving.record(name, ranges, reason) for reason, ranges in losses(result))

    def _close_others(self, name: SegmentName) -> None:
        """One file is kept open, and those that are gone: they cannot be opened again."""
        for segment in self._parts.segments:
            if segment.is_opened and segment.name != name and segment.log is not None:
                self._parts.close_reader(segment.name)

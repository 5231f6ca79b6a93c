"""Announces all tables before the first read, takes finished reads, and starts the next read.

Reads never overlap: the position, the schema and the skipped tables of a read follow from the
previous result.
"""

import logging
from functools import partial

from agent.cdc_raw.names import SegmentFiles
from agent.pipeline.blocked_read import RETRY_S, Obstacle
from agent.pipeline.context import PipelineContext
from agent.pipeline.read_errors import (
    ArrivingFile,
    has_known_end,
    is_environmental,
    losses,
    may_pass,
    read_error_message,
)
from agent.pipeline.reader import ReadResult
from agent.pipeline.steps.blocked import BlockedStep
from agent.segments.state import ReadRequest, after_read
from agent.watermark.message import SCHEMA_START
from commitlog import EventBatch, Schema
from sidecar.logs import fields

logger = logging.getLogger(__name__)

_SCHEMA_UNREADABLE = "schema_unreadable"
_METADATA_LOG_UNREADABLE = "metadata_log_unreadable"


class ReadStep:
    def __init__(self, context: PipelineContext, blocked: BlockedStep) -> None:
        self._context = context
        self._blocked = blocked
        self._arriving = ArrivingFile(context.clock)
        self._result: ReadResult | None = None

    @property
    def is_waiting(self) -> bool:
        """True while a finished read waits because its losses cannot be recorded."""
        return self._result is not None

    def abandon(self) -> None:
        self._context.read_worker.abandon()
        self._result = None

    def announce(self) -> bool:
        """Announces all tables at the first start, once the schema is known. Reading starts
        afterwards."""
        context, announcer = self._context, self._context.announcer
        if announcer is None or announcer.announced is not None or not context.delivery.is_open:
            return False
        schema = context.schema.current()
        if schema is None:
            return False
        context.announce(SCHEMA_START, announcer.begin(schema), 0)
        return True

    def start(self) -> bool:
        context, settings = self._context, self._context.settings
        schema = context.schema.current()
        if schema is None or not (context.delivery.is_open and context.may_publish):
            return False
        if self.is_waiting or context.read_worker.is_busy or not context.delivery.wants_more:
            return False
        if not context.delivery.has_room:
            return False
        order = context.segments.next_read
        if order is None:
            return False
        # Segments that left `cdc_raw` cannot be reopened.
        for segment in context.segments.opened:
            if segment.name != order.name and segment.log is not None:
                context.close_reader(segment.name)
        context.read_worker.start(
            order,
            schema,
            settings.read_max_events,
            settings.read_max_bytes,
            context.blocked_read.abandoned(context.clock()),
            None if context.announcer is None else context.announcer.announced,
        )
        return True

    def take(self) -> bool:
        """Takes a finished read after its losses are recorded."""
        context = self._context
        if self._result is None:
            self._result = context.read_worker.take()
        result = self._result
        if result is None or not context.disposer.can_record:
            return False
        name = result.order.name
        path = SegmentFiles(context.settings.cdc_raw_directory, name).log
        if self._arriving.is_waited_for(result, path):
            self._result = None
            # Discard the result, because the next read must use the file as it is then.
            context.close_reader(name)
            context.scanner.request()
            found = (
                "ends before its index says"
                if has_known_end(result)
                else "was written seconds ago, and no index shows its end"
            )
            message = f"{path} {found}; another program may still be writing it."
            self._block(result, message, is_bounded=False)
            return True
        record = context.disposer.record
        if not all(record(name, ranges, reason) for reason, ranges in losses(result)):
            return False
        self._result = None
        context.change(
            name,
            is_opened=context.read_worker.is_opened(name),
            fingerprint=result.fingerprint or result.order.fingerprint,
        )
        if result.batch is not None:
            self._take_batch(result.order, result.batch, result.schema)
        elif result.error is not None:
            self._take_error(result, result.order, result.error)
        return True

    def _take_batch(self, order: ReadRequest, batch: EventBatch, schema: Schema) -> None:
        context, metrics, name = self._context, self._context.metrics, order.name
        for (table, op), count in batch.counts.items():
            metrics.events.labels(table, op).inc(count)
        for reason, count in batch.skipped.items():
            metrics.skipped_updates.labels(reason).inc(count)
        metrics.mutations.inc(batch.mutations)
        metrics.read_segment.set(name.id)
        metrics.read_position.set(batch.end_position)
        context.delivery.add(name, batch, order.position)
        context.segments.change(
            name,
            partial(
                after_read, order=order, position=batch.end_position, at_end=batch.stop == "end"
            ),
        )
        if batch.schema_changes is not None:
            context.schema.absorb(batch.schema_changes)
            if context.announcer is not None:
                start, end = batch.change_start or batch.end_position, batch.end_position
                changes = context.announcer.change(batch.schema_changes, name, start, end)
                context.announce(name, changes, start)
        if batch.skipped.get(_SCHEMA_UNREADABLE):
            reason = "a schema change in the log cannot be read"
            logger.warning(
                "the agent cannot read a schema change in the commit log, and queries the node's "
                "schema",
                extra=fields(segment=name, up_to=batch.end_position),
            )
            context.read_worker.refresh(partial(context.schema.refresh, reason))
        if batch.skipped.get(_METADATA_LOG_UNREADABLE):
            logger.warning(
                "the agent cannot read the statement of a schema change in the metadata log; it "
                "uses the following rows of system_schema instead",
                extra=fields(segment=name, up_to=batch.end_position),
            )
        blocked = batch.blocked
        if blocked is not None and blocked.is_unannounced:
            # A record uses the table before the agent has read its schema change.
            assert context.announcer is not None
            end = batch.end_position
            changes = context.announcer.complete(blocked.table_id, schema, name, end)
            context.announce(name, changes, end)
        elif blocked is not None:
            # The first request is due immediately.
            now_s, missing = context.clock(), (blocked.table_id, blocked.column)
            unregistered = tuple(blocked.unregistered)
            position, reason = blocked.position, blocked.reason
            self._blocked.begin(
                Obstacle(name, position, missing, reason, schema, now_s, now_s, unregistered)
            )
            return
        self._blocked.end(name)
        if order.complete and batch.stop == "end":
            context.close_reader(name)

    def _take_error(self, result: ReadResult, order: ReadRequest, error: BaseException) -> None:
        """Blocks the segment if the read may succeed later; otherwise its loss is on record."""
        context = self._context
        if isinstance(error, FileNotFoundError):
            context.scanner.request()
        if may_pass(order, error):
            path = SegmentFiles(context.settings.cdc_raw_directory, order.name).log
            message = read_error_message(path, error)
            self._block(result, message, is_bounded=not is_environmental(error))
            return
        context.close_reader(order.name)
        context.change(order.name, is_unreadable=True)

    def _block(self, result: ReadResult, message: str, *, is_bounded: bool) -> None:
        order, now_s = result.order, self._context.clock()
        obstacle = Obstacle(
            order.name,
            order.position,
            None,
            message,
            result.schema,
            now_s,
            now_s + RETRY_S,
            is_bounded=is_bounded,
        )
        self._blocked.begin(obstacle)

"""The loop that joins everything: look, decide, read, send, acknowledge, save, let go.

One thread takes turns; a worker reads the next batch meanwhile. A turn does what can be done and
never waits, except for the sink's bounded sends and the disk. Between turns without work the thread
waits on one condition: a change in `cdc_raw`, a read that is done, a request to stop, or the time
at which something is due.
"""

import logging
import time
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import replace
from functools import partial

from agent.cdc_raw import SegmentName
from agent.metrics import UNREADABLE, VANISHED, AgentMetrics
from agent.pipeline.delivering import Delivery
from agent.pipeline.garbage import rare_collection
from agent.pipeline.handover import quick_handover
from agent.pipeline.holding import Holding, Step
from agent.pipeline.keeping import Keeping, OffsetStore
from agent.pipeline.leaving import Leaving
from agent.pipeline.looking import Looking
from agent.pipeline.losses import losses, may_pass
from agent.pipeline.reader import Batch, OpenReader, SchemaSource
from agent.pipeline.reading import Reading, ReadResult
from agent.pipeline.settings import PipelineSettings
from agent.pipeline.showing import Showing
from agent.pipeline.view import View
from agent.pipeline.wakeup import Wakeup
from agent.quarantine import LostRange, Quarantine
from agent.segments import Ledger, Read, begin, looked
from agent.segments.state import Segment, acknowledged, read
from agent.transfer import Transfer
from commitlog import Schema
from sidecar.errors import SidecarError, SinkRestartError
from sidecar.lifecycle import Stop
from sidecar.logs import Repeated, fields
from sidecar.sinks.base import Sink

logger = logging.getLogger(__name__)

_RETRY_S = 1.0
_IDLE_POLL_S = 1.0
_FIRST_POLL_PAUSE_S = 0.002
_FULL_POLL_S = 0.02
_LONGEST_POLL_PAUSE_S = 0.1
_FIRST_RESTART_PAUSE_S = 1.0
_LONGEST_RESTART_PAUSE_S = 30.0
_SCHEMA_UNREADABLE = "schema_unreadable"


class Pipeline:
    """One node's segments on their way to one sink."""

    def __init__(
        self,
        settings: PipelineSettings,
        *,
        open_reader: OpenReader,
        schema: SchemaSource,
        sink: Sink,
        store: OffsetStore,
        ledger: Ledger,
        transfer: Transfer,
        quarantine: Quarantine,
        metrics: AgentMetrics,
        executor: Executor | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`ledger` is what `store` holds; `executor` has one worker (its own thread without);
        `clock` gives seconds."""
        self._settings = settings
        self._schema = schema
        self._metrics = metrics
        self._clock = clock
        self._wakeup = Wakeup()
        self._executor = executor or ThreadPoolExecutor(1, "reader")
        directory = settings.cdc_raw_directory
        self._looking = Looking(
            directory, settings.poll_interval_ms / 1000, self._wakeup.ring, clock=clock
        )
        self._reading = Reading(directory, open_reader, self._executor, self._wakeup.ring)
        self._holding = Holding(settings.hold_max_ms / 1000)
        self._delivery = Delivery(
            sink,
            settings.window_max_events,
            settings.window_max_bytes,
            metrics=metrics.delivery,
            clock=clock,
        )
        self._keeping = Keeping(
            store,
            ledger,
            settings.offset_flush_interval_ms / 1000,
            metrics=metrics.delivery,
            clock=clock,
        )
        self._leaving = Leaving(directory, transfer, quarantine, metrics)
        self._showing = Showing(settings, metrics, clock=clock)
        self._segments = begin(ledger)
        self._result: ReadResult | None = None
        self._record_at_s = self._open_at_s = self._poll_at_s = clock()
        self._leave_at_s: dict[SegmentName, float] = {}
        self._restart_pause_s = _FIRST_RESTART_PAUSE_S
        self._poll_pause_s = _FIRST_POLL_PAUSE_S
        self._is_stopping = False
        self._repeated = Repeated(logger)
        self._hold_key = ""
        self._show()

    @property
    def view(self) -> View:
        """The last state that was shown. Any thread may ask."""
        return self._showing.view

    @property
    def moved_at_s(self) -> float:
        """When the last turn was made, by the clock. Any thread may ask."""
        return self._showing.moved_at_s

    def wake(self) -> None:
        """Something changed that a turn should see, such as the schema. Any thread may call it."""
        self._wakeup.ring()

    def run(self, stop: Stop) -> None:
        """Takes turns until `stop` is requested, then drains within its deadline.

        Raises what the sink raises when it cannot go on, and what ended the schema. Progress is
        saved in every case.
        """
        try:
            with rare_collection(), quick_handover():
                while not stop.requested:
                    if not self.turn():
                        self._wakeup.wait(self._pause_s(), stop.fileno())
                self._drain(stop)
        finally:
            self._close(stop.remaining_s if stop.requested else 0.0)

    def turn(self) -> bool:
        """Does what can be done now; True when there was something. Raises what ended the schema:
        with a kept one it would go on until a table is new, and end then."""
        if self._schema.fatal is not None:
            raise self._schema.fatal
        worked = False
        try:
            worked |= self._look()
            worked |= self._take_read()
            worked |= self._work_on_hold()
            worked |= self._start_read()
            worked |= self._deliver()
        except SinkRestartError as error:
            self._start_again(error)
            worked = True
        worked |= self._advance()
        worked |= self._set_refused_aside()
        self._keeping.save()
        worked |= self._let_go()
        self._showing.moved()
        if self._showing.is_due or not (worked or self._reading.is_busy):
            self._show()
        return worked

    # Looking.

    def _look(self) -> bool:
        if self._looking.due_in_s > 0:
            return False
        is_periodic = not self._looking.is_wanted
        completed = frozenset(s.name for s in self._segments if s.idx.completed)
        observation = self._looking.look(completed)
        if observation is None:
            return False
        self._segments = looked(
            self._segments, observation, self._keeping.ledger, retry=is_periodic
        )
        self._leaving.forget_others(self._segments.by_name.keys())
        self._put_losses_on_record()
        return True

    def _put_losses_on_record(self) -> None:
        for lost in self._segments.lost:
            cause = "the segment is gone from cdc_raw before it was read to its end"
            ranges = (LostRange(lost.read_position, None, cause),)
            if self._leaving.record(lost.name, ranges, VANISHED):
                self._change(lost.name, is_reported=True)

    # Reading.

    def _start_read(self) -> bool:
        settings, schema = self._settings, self._schema.current()
        if self._is_stopping or schema is None or not self._delivery.is_open:
            return False
        if self._result is not None or self._reading.is_busy or not self._delivery.wants_more:
            return False
        if not self._has_room:
            return False
        order = self._segments.next_read
        if order is None:
            return False
        self._close_others(order.name)
        self._reading.start(
            order,
            schema,
            settings.read_max_events,
            settings.read_max_bytes,
            self._holding.given_up,
        )
        return True

    @property
    def _has_room(self) -> bool:
        """For all that a read may give."""
        settings = self._settings
        return self._delivery.has_room(settings.read_max_events, settings.read_max_bytes)

    def _take_read(self) -> bool:
        if self._result is None:
            self._result = self._reading.take()
        result = self._result
        if result is None or self._clock() < self._record_at_s:
            return False
        if not self._put_gaps_on_record(result):
            self._record_at_s = self._clock() + _RETRY_S
            return False
        self._result = None
        name = result.order.name
        self._change(name, is_opened=self._reading.is_opened(name))
        if result.batch is not None:
            self._take_batch(result.order, result.batch, result.schema)
        elif result.error is not None:
            self._take_error(result.order, result.error, result.schema)
        return True

    def _take_batch(self, order: Read, batch: Batch, schema: Schema) -> None:
        name = order.name
        for (table, op), count in batch.counts.items():
            self._metrics.events.labels(table, op).inc(count)
        for reason, count in batch.skipped.items():
            self._metrics.skipped_updates.labels(reason).inc(count)
        self._metrics.mutations.inc(batch.mutations)
        self._metrics.reached(name.id, batch.end_position)
        self._delivery.add(name, batch, order.position)
        self._segments = self._segments.changed(
            name,
            partial(read, order=order, position=batch.end_position, at_end=batch.stop == "end"),
        )
        if batch.schema_changes is not None:
            self._schema.absorb(batch.schema_changes)
        if batch.skipped.get(_SCHEMA_UNREADABLE):
            reason = "a change of schema in the log cannot be read"
            self._reading.refresh(partial(self._schema.refresh, reason))
        blocked = batch.blocked
        if blocked is None:
            self._repeated.over(self._hold_key, "reading goes on", segment=name)
            if order.complete and batch.stop == "end":
                self._close_reader(name)
        else:
            hold = self._holding.begin_blocked(name, blocked, schema, self._clock())
            self._hold(name, hold.sentence, hold.position)

    def _take_error(self, order: Read, error: BaseException, schema: Schema) -> None:
        """The file may come back, a live one may get its header; the rest is on record."""
        if isinstance(error, FileNotFoundError):
            self._looking.want()
        if may_pass(order, error):
            reason = error.strerror if isinstance(error, OSError) and error.strerror else error
            sentence = f"{order.name} cannot be read: {reason}."
            self._holding.begin_failed(order.name, order.position, sentence, schema, self._clock())
            self._hold(order.name, sentence, order.position)
            return
        self._close_reader(order.name)
        self._change(order.name, is_unreadable=True)

    def _put_gaps_on_record(self, result: ReadResult) -> bool:
        """True when everything of the read that gave no events is on record."""
        name = result.order.name
        return all(self._leaving.record(name, ranges, reason) for reason, ranges in losses(result))

    def _close_others(self, name: SegmentName) -> None:
        """One file is kept open, and those that are gone: they cannot be opened again."""
        for segment in self._segments:
            if segment.is_opened and segment.name != name and segment.log is not None:
                self._close_reader(segment.name)

    def _close_reader(self, name: SegmentName) -> None:
        self._reading.close(name)
        self._change(name, is_opened=False)

    # Holding.

    def _hold(self, name: SegmentName, sentence: str, position: int) -> None:
        self._change(name, is_held=True)
        key = f"{name} {position}"
        if key != self._hold_key:
            self._repeated.over(self._hold_key, "reading goes on")
            self._hold_key = key
        self._repeated.say(
            key, "a segment is held", segment=name, position=position, reason=sentence
        )

    def _work_on_hold(self) -> bool:
        hold = self._holding.hold
        if hold is None:
            return False
        segment = self._segments.get(hold.name)
        if segment is None or not segment.is_held:
            self._holding.end()
            return True
        if self._reading.is_busy:
            return False
        step = self._holding.step(self._schema.current(), self._clock())
        if step is Step.READ:
            self._holding.end()
            self._change(hold.name, is_held=False)
        elif step is Step.ASK:
            self._holding.asked(self._clock())
            self._reading.refresh(partial(self._schema.refresh, hold.sentence))
        elif step is Step.GIVE_UP:
            return self._give_up()
        else:
            return False
        return True

    def _give_up(self) -> bool:
        hold = self._holding.hold
        if hold is None or self._clock() < self._record_at_s:
            return False
        if hold.missing is None:
            lost = LostRange(hold.position, None, hold.sentence)
            if not self._leaving.record(hold.name, (lost,), UNREADABLE):
                self._record_at_s = self._clock() + _RETRY_S
                return False
            self._close_reader(hold.name)
            self._change(hold.name, is_unreadable=True)
        self._holding.give_up()
        self._change(hold.name, is_held=False)
        logger.warning(
            "a segment was held for too long; what cannot be read is given up",
            extra=fields(segment=hold.name, position=hold.position, reason=hold.sentence),
        )
        return True

    # Delivering.

    def _deliver(self) -> bool:
        if not self._delivery.is_open:
            return self._open_sink()
        worked = self._delivery.send()
        if not self._delivery.is_idle or self._clock() >= self._poll_at_s:
            self._poll_at_s = self._clock() + _IDLE_POLL_S
            # With a full window only an acknowledgement brings anything on.
            is_stuck = not worked and not self._has_room and not self._reading.is_busy
            if self._delivery.poll(_FULL_POLL_S if is_stuck else 0.0):
                self._restart_pause_s = _FIRST_RESTART_PAUSE_S
                worked = True
        pause_s = min(_LONGEST_POLL_PAUSE_S, self._poll_pause_s * 2)
        self._poll_pause_s = _FIRST_POLL_PAUSE_S if worked else pause_s
        return worked

    def _open_sink(self) -> bool:
        if self._is_stopping or self._clock() < self._open_at_s:
            return False
        self._delivery.open()
        return True

    def _start_again(self, error: SinkRestartError) -> None:
        """The sink lost something: everything from the watermark on is read and sent again."""
        logger.warning(
            "delivery starts again from the last acknowledged event",
            extra=fields(reason=str(error), pause_s=self._restart_pause_s),
        )
        self._metrics.delivery.sink_restarts.inc()
        self._close_sink(0.0)
        self._advance()
        self._delivery.forget()
        self._reading.abandon()
        self._holding.end()
        self._result = None
        self._segments = begin(self._keeping.ledger)
        self._looking.want()
        self._open_at_s = self._clock() + self._restart_pause_s
        self._restart_pause_s = min(_LONGEST_RESTART_PAUSE_S, self._restart_pause_s * 2)

    def _close_sink(self, deadline_s: float) -> None:
        try:
            self._delivery.close(deadline_s)
        except SidecarError as error:
            logger.warning("the sink did not close cleanly", extra=fields(reason=str(error)))

    def _advance(self) -> bool:
        moved = self._delivery.progress()
        for progress in moved:
            self._keeping.advance(progress.source, progress.position)
            self._metrics.acknowledged(progress.source.id, progress.position)
            self._segments = self._segments.changed(
                progress.source, partial(acknowledged, position=progress.position)
            )
        return bool(moved)

    def _set_refused_aside(self) -> bool:
        if not self._delivery.refused or self._clock() < self._record_at_s:
            return False
        for refused in tuple(self._delivery.refused):
            if not self._leaving.keep(refused):
                self._record_at_s = self._clock() + _RETRY_S
                return False
            self._delivery.set_aside(refused)
        return True

    def _let_go(self) -> bool:
        now_s = self._clock()
        names = [n for n in self._segments.drained if now_s >= self._leave_at_s.get(n, now_s)]
        if not names:
            return False
        self._keeping.finish(names, present=self._segments.by_name.keys())
        if not self._keeping.save(at_once=True):
            return False
        has_left = False
        for name in names:
            if self._leaving.leave(name):
                self._leave_at_s.pop(name, None)
                self._close_reader(name)
                self._segments = self._segments.without(name)
                has_left = True
            else:
                self._leave_at_s[name] = now_s + _RETRY_S
        return has_left

    # The end.

    def _drain(self, stop: Stop) -> None:
        """Sends and acknowledges what was read, within the deadline; nothing more is read."""
        self._is_stopping = True
        logger.info(
            "stopping: what was read is delivered",
            extra=fields(events=self._delivery.window.unacknowledged, within_s=stop.remaining_s),
        )
        while self._delivery.is_open and not self._delivery.is_idle and stop.remaining_s > 0:
            try:
                worked = self._deliver()
            except SinkRestartError as error:
                logger.warning("the sink ended while stopping", extra=fields(reason=str(error)))
                break
            worked |= self._advance()
            worked |= self._set_refused_aside()
            self._keeping.save()
            self._showing.moved()
            self._show()
            if not worked:
                self._wakeup.wait(min(self._poll_pause_s, stop.remaining_s))

    def _close(self, deadline_s: float) -> None:
        try:
            self._close_sink(deadline_s)
            self._advance()
            self._keeping.save_last()
            self._let_go()
        finally:
            self._show()
            self._looking.close()
            self._executor.shutdown(wait=False, cancel_futures=True)
            self._wakeup.close()
        left = self._delivery.window.unacknowledged
        logger.info(
            "stopped" if not left else "stopped with events that a restart repeats",
            extra=fields(unacknowledged=left),
        )

    def _pause_s(self) -> float:
        """How long there is nothing to do."""
        now_s = self._clock()
        due = [self._looking.due_in_s, _IDLE_POLL_S]
        if not self._delivery.is_open:
            due.append(self._open_at_s - now_s)
        elif not self._delivery.is_idle:
            due.append(self._poll_pause_s)
        if (save_s := self._keeping.due_in_s) is not None:
            due.append(save_s)
        if (hold_s := self._holding.due_in_s(now_s)) is not None:
            due.append(hold_s)
        if self._result is not None or self._delivery.refused:
            due.append(self._record_at_s - now_s)
        return max(0.0, min(due))

    def _change(self, name: SegmentName, **facts: bool) -> None:
        def changed(segment: Segment) -> Segment:
            return replace(segment, **facts)  # type: ignore[arg-type]

        self._segments = self._segments.changed(name, changed)

    def _show(self) -> None:
        self._showing.show(
            self._segments,
            self._looking,
            self._holding,
            self._delivery,
            self._keeping,
            self._leaving,
            is_stopping=self._is_stopping,
        )

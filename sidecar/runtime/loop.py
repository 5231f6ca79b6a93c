"""The loop of an agent: read, deliver, record progress, save, dispose.

One thread runs ticks. A tick does all pending work and never waits, except for the sink's bounded
sends, for acknowledgements while the window is full, and for the disk. After a tick without work,
the thread waits for a ring, a stop request or the time at which something is due.
"""

import logging
import os
import select
import threading
from collections.abc import Callable
from typing import Any, Generic, Protocol

from sidecar.dead_letters.dead_letter import RejectedEvent
from sidecar.delivery.delivery import Delivery
from sidecar.delivery.sink_driver import SinkDriver
from sidecar.errors import AccessDeniedError, SinkRestartError
from sidecar.events import Position, Source
from sidecar.logs import fields
from sidecar.metrics import DeliveryMetrics
from sidecar.process.lifecycle import Stop
from sidecar.process.tuning import tune_interpreter
from sidecar.sinks.base import Outcome
from sidecar.status.publisher import StatusPublisher, ViewOf

_LONGEST_WAIT_S = 3600.0
"""The timeout of `poll` is a 31-bit number of milliseconds."""


class Wakeup:
    """Wakes one thread, which waits for rings from any thread and for other descriptors.

    It is a pipe instead of `threading.Condition`, because the stop request is a descriptor.
    """

    def __init__(self) -> None:
        self._read_fd, self._write_fd = os.pipe()
        os.set_blocking(self._read_fd, False)
        os.set_blocking(self._write_fd, False)
        self._lock = threading.Lock()
        self._is_closed = False

    def ring(self) -> None:
        """Ends the current or the next wait. Harmless after `close`."""
        with self._lock:
            if self._is_closed:
                return
            try:
                os.write(self._write_fd, b"\0")
            except BlockingIOError:
                # A full pipe wakes the thread too.
                return

    def wait(self, timeout_s: float, *descriptors: int) -> None:
        """Waits for a ring, a readable descriptor or the timeout, an hour at most."""
        poller = select.poll()
        for descriptor in (self._read_fd, *descriptors):
            poller.register(descriptor, select.POLLIN)
        poller.poll(min(max(0.0, timeout_s), _LONGEST_WAIT_S) * 1000)
        self._forget_rings()

    def close(self) -> None:
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                os.close(self._read_fd)
                os.close(self._write_fd)

    def _forget_rings(self) -> None:
        try:
            while len(os.read(self._read_fd, 4096)) == 4096:
                pass
        except BlockingIOError:
            return


logger = logging.getLogger(__name__)

_BUSY_PUBLISH_INTERVAL_S = 0.25


class ChangeSource(Protocol[Source, Position]):
    """The source that a loop reads, and that stores the progress of delivery. Used by one thread.

    The loop records, saves and disposes of everything that `read` adds, in this order.
    """

    @property
    def is_finished(self) -> bool:
        """Whether no event will ever follow and all events are delivered."""

    @property
    def is_reading(self) -> bool:
        """Whether a different thread is reading; it rings when it has finished."""

    @property
    def may_read(self) -> bool:
        """False if the next read must wait for an acknowledgement."""

    def begin(self) -> None:
        """Called once, before the first tick."""

    def prepare(self) -> bool:
        """Does the work that precedes reading, even while the sink is closed. Returns whether there
        was any. Raises errors that stop the agent."""

    def read(self) -> bool:
        """Adds ready batches to the delivery. Returns whether it did something."""

    def note_progress(self) -> bool:
        """Records `Delivery.progress`. Returns whether a position advanced."""

    def keep_dead_letter(self, rejected: RejectedEvent[Source, Position]) -> bool:
        """Stores a dead letter. Returns False if it currently cannot."""

    def save(self) -> None:
        """Stores the progress if a save is due."""

    def save_last(self) -> None:
        """Stores the final progress."""

    def dispose(self) -> bool:
        """Acts on stored progress. Returns whether it did something."""

    def rewind(self) -> None:
        """Forgets unacknowledged events, to read them again."""

    def due_in_s(self) -> float:
        """Returns the seconds until a tick is due, even without a ring."""

    def publish(self, *, is_stopping: bool) -> None:
        """Publishes the current state for other threads."""

    def close(self) -> None:
        """Releases all resources. No method is called afterwards."""


class Loop(Generic[Source, Position]):
    """Runs the ticks of one source and one sink."""

    def __init__(
        self,
        source: ChangeSource[Source, Position],
        delivery: Delivery[Source, Position],
        wakeup: Wakeup,
        *,
        metrics: DeliveryMetrics,
        waits_when_denied: bool,
        clock: Callable[[], float],
    ) -> None:
        """With `waits_when_denied`, a sink that denies access is opened again; otherwise its error
        stops the loop. `clock` returns seconds."""
        self._source = source
        self._delivery = delivery
        self._wakeup = wakeup
        self._waits_when_denied = waits_when_denied
        self._clock = clock
        self._sink = SinkDriver(delivery, metrics=metrics, clock=clock)
        self._is_stopping = False
        self.last_tick_s = clock()
        """The clock's time at the end of the latest tick. Thread-safe."""
        self._publish()

    @property
    def pause_s(self) -> float:
        """How long a loop without work may wait."""
        return max(0.0, min(self._source.due_in_s(), self._sink.due_in_s))

    def run(self, stop: Stop) -> None:
        """Runs ticks until `stop` is requested, then drains within its deadline.

        Propagates errors after which the source or the sink cannot continue. Saves the progress in
        every case.
        """
        try:
            self._source.begin()
            with tune_interpreter():
                while not (stop.requested or self._source.is_finished):
                    if not self.tick():
                        self._wakeup.wait(self.pause_s, stop.fileno())
                self._drain(stop)
        finally:
            self.close(stop.remaining_s if stop.requested else 0.0)

    def tick(self) -> bool:
        """Does all pending work. Returns whether there was any."""
        source = self._source
        worked = source.prepare()
        try:
            worked |= source.read()
            worked |= self._sink.tick(may_read=source.may_read, may_open=True)
        except SinkRestartError as error:
            self._restart(error)
            worked = True
        except AccessDeniedError as error:
            if not self._waits_when_denied:
                raise
            self._restart(error)
            worked = True
        worked |= self._settle()
        worked |= source.dispose()
        self.last_tick_s = self._clock()
        is_due = self._clock() - self._published_at_s >= _BUSY_PUBLISH_INTERVAL_S
        if is_due or not (worked or source.is_reading):
            self._publish()
        return worked

    def close(self, deadline_s: float) -> None:
        """Closes the sink within the deadline, saves the progress and releases all resources."""
        source = self._source
        try:
            self._sink.close(deadline_s)
            source.note_progress()
            source.save_last()
            source.dispose()
        finally:
            self._publish()
            source.close()
            self._wakeup.close()
        left = self._delivery.window.unacknowledged
        logger.info(
            "stopped"
            if not left
            else "stopped with unacknowledged events, which a restart repeats",
            extra=fields(unacknowledged=left),
        )

    def abandon(self) -> None:
        """Releases all resources without saving, as if the process were killed."""
        self._source.close()
        self._wakeup.close()

    def _settle(self) -> bool:
        """Records progress, stores dead letters and saves."""
        worked = self._source.note_progress()
        worked |= self._keep_dead_letters()
        self._source.save()
        return worked

    def _keep_dead_letters(self) -> bool:
        worked = False
        for rejected in tuple(self._delivery.rejected):
            outcome = self._delivery.publish_dead_letter(rejected)
            if outcome is Outcome.WAITING:
                continue
            if outcome is Outcome.ACKNOWLEDGED:
                worked = True
                continue
            if not self._source.keep_dead_letter(rejected):
                break
            self._delivery.dead_letter(rejected)
            worked = True
        return worked

    def _restart(self, error: SinkRestartError | AccessDeniedError) -> None:
        """Makes the agent read and send unacknowledged events again, after a pause."""
        self._sink.end(error)
        self._source.note_progress()
        self._delivery.forget()
        self._source.rewind()

    def _drain(self, stop: Stop) -> None:
        """Delivers events that are already read, within the deadline, and reads no more."""
        delivery = self._delivery
        self._is_stopping = True
        logger.info(
            "stopping: the agent delivers what it has read",
            extra=fields(
                events=delivery.window.unacknowledged, within_s=round(stop.remaining_s, 1)
            ),
        )
        while delivery.is_open and not delivery.is_idle and stop.remaining_s > 0:
            try:
                worked = self._last_tick()
            except (SinkRestartError, AccessDeniedError) as error:
                logger.warning("the sink failed while stopping", extra=fields(reason=str(error)))
                return
            if not worked:
                self._wakeup.wait(min(self._sink.due_in_s, stop.remaining_s))

    def _last_tick(self) -> bool:
        """Runs a tick that reads nothing."""
        worked = self._sink.tick(may_read=False, may_open=False)
        worked |= self._settle()
        self.last_tick_s = self._clock()
        self._publish()
        return worked

    def _publish(self) -> None:
        self._source.publish(is_stopping=self._is_stopping)
        self._published_at_s = self._clock()


class LoopPipeline(Generic[ViewOf]):
    """The part that the pipelines of all agents share."""

    def __init__(self, loop: Loop[Any, Any], publisher: StatusPublisher[ViewOf]) -> None:
        self.loop = loop
        self._publisher = publisher

    @property
    def view(self) -> ViewOf:
        """The latest published state. Thread-safe."""
        return self._publisher.view

    @property
    def last_tick_s(self) -> float:
        return self.loop.last_tick_s

    def run(self, stop: Stop) -> None:
        self.loop.run(stop)

    def tick(self) -> bool:
        return self.loop.tick()

"""The loop that joins everything: look, read, hold, deliver, acknowledge, save, let go.

One thread takes turns; a worker reads the next batch meanwhile. A turn does what can be done and
never waits, except for the sink's bounded sends, for acknowledgements when the window is full, and
the disk. Between turns without work the thread waits on one condition: a change in `cdc_raw`, a
read that is done, a request to stop, or the time at which something is due.
"""

import time
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor

from agent.metrics import AgentMetrics
from agent.pipeline.holding import Holding
from agent.pipeline.keeping import Keeping
from agent.pipeline.leaving import Leaving
from agent.pipeline.looking import Looking
from agent.pipeline.parts import Parts
from agent.pipeline.reader import OpenReader, SchemaSource
from agent.pipeline.reading import Reading
from agent.pipeline.settings import PipelineSettings
from agent.pipeline.showing import Showing
from agent.pipeline.steps.copy import CopyStep
from agent.pipeline.steps.deliver import DeliverStep
from agent.pipeline.steps.hold import HoldStep
from agent.pipeline.steps.leave import LeaveStep
from agent.pipeline.steps.look import LookStep
from agent.pipeline.steps.read import ReadStep
from agent.pipeline.steps.requeue import RequeueStep
from agent.pipeline.view import View
from agent.quarantine import Quarantine
from agent.segments import Ledger, begin
from agent.snapshot.snapshot import Snapshot
from agent.transfer import Transfer
from commitlog import SchemaIds, Unregistered
from sidecar.errors import RefusedError, SinkRestartError
from sidecar.pipeline.delivering import Delivery
from sidecar.pipeline.garbage import rare_collection
from sidecar.pipeline.handover import quick_handover
from sidecar.pipeline.saving import OffsetStore
from sidecar.pipeline.stopping import drain, say_stopped
from sidecar.pipeline.wakeup import Wakeup
from sidecar.process.lifecycle import Stop
from sidecar.schema_registry import Registrar
from sidecar.sinks.base import Sink


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
        snapshot: Snapshot | None = None,
        snapshot_store: OffsetStore | None = None,
        registrar: Registrar[Unregistered] | None = None,
        executor: Executor | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`ledger` is what `store` holds, and the progress of `snapshot` what `snapshot_store`
        does; `registrar` gets ids for schemas, where events are Avro; `executor` has one worker
        (its own thread without); `clock` gives seconds."""
        self._wakeup = Wakeup()
        self._executor = executor or ThreadPoolExecutor(1, "reader")
        self._showing = Showing(settings, metrics, clock=clock)
        directory = settings.cdc_raw_directory
        self._parts = parts = Parts(
            settings=settings,
            schema=schema,
            metrics=metrics,
            clock=clock,
            looking=Looking(
                directory,
                settings.poll_interval_ms / 1000,
                self._wakeup.ring,
                clock=clock,
                commit_log=settings.commit_log_directory,
            ),
            reading=Reading(directory, open_reader, self._executor, self._wakeup.ring),
            holding=Holding(settings.hold_max_ms / 1000),
            delivery=Delivery(
                sink,
                settings.window_max_events,
                settings.window_max_bytes,
                metrics=metrics.delivery,
                clock=clock,
                transform=settings.transform,
                tracing=settings.tracing,
            ),
            keeping=Keeping(
                store,
                ledger,
                settings.offset_flush_interval_ms / 1000,
                metrics=metrics.delivery,
                clock=clock,
            ),
            leaving=Leaving(directory, transfer, quarantine, metrics),
            registrar=registrar or Registrar(SchemaIds(), {}),
            segments=begin(ledger),
            snapshot=snapshot,
        )
        self._requeue = RequeueStep(parts)
        self._look = LookStep(parts)
        self._hold = HoldStep(parts)
        self._read = ReadStep(parts, self._hold)
        self._deliver = DeliverStep(parts)
        self._leave = LeaveStep(parts)
        self._copy = CopyStep(parts, snapshot_store or store)
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
        parts = self._parts
        if (fatal := parts.schema.fatal or parts.registrar.fatal) is not None:
            raise fatal
        worked = False
        try:
            worked |= self._requeue.tick()
            worked |= self._look.turn()
            worked |= self._read.take()
            worked |= self._hold.turn()
            worked |= self._read.start()
            worked |= self._copy.turn()
            worked |= self._deliver.turn()
        except SinkRestartError as error:
            self._start_again(error)
            worked = True
        except RefusedError as error:
            if not parts.settings.waits_when_refused:
                raise
            self._start_again(error)
            worked = True
        worked |= self._deliver.advance()
        worked |= self._deliver.set_refused_aside()
        parts.keeping.save()
        self._copy.save()
        worked |= self._leave.turn()
        self._showing.moved()
        if self._showing.is_due or not (worked or parts.reading.is_busy):
            self._show()
        return worked

    def _start_again(self, error: SinkRestartError | RefusedError) -> None:
        """Everything from the watermark on is read and sent again."""
        parts = self._parts
        self._deliver.end(error)
        self._read.abandon()
        self._copy.start_again()
        parts.holding.end()
        parts.segments = begin(parts.keeping.ledger)
        parts.looking.want()

    def _drain(self, stop: Stop) -> None:
        self._parts.is_stopping = True
        drain(
            self._parts.delivery,
            stop,
            self._wakeup,
            turn=self._last_turn,
            due_in_s=lambda: self._deliver.due_in_s,
        )

    def _last_turn(self) -> bool:
        """A turn in which nothing is read."""
        worked = self._deliver.turn()
        worked |= self._deliver.advance()
        worked |= self._deliver.set_refused_aside()
        self._parts.keeping.save()
        self._copy.save()
        self._showing.moved()
        self._show()
        return worked

    def _close(self, deadline_s: float) -> None:
        parts = self._parts
        try:
            self._deliver.close(deadline_s)
            self._deliver.advance()
            parts.keeping.save_last()
            self._copy.save_last()
            self._leave.turn()
        finally:
            self._show()
            parts.looking.close()
            self._executor.shutdown(wait=False, cancel_futures=True)
            self._wakeup.close()
        say_stopped(parts.delivery)

    def _pause_s(self) -> float:
        """How long there is nothing to do."""
        parts, now_s = self._parts, self._parts.clock()
        due = [parts.looking.due_in_s, self._deliver.due_in_s]
        if (look_s := self._look.due_in_s) is not None:
            due.append(look_s)
        if (save_s := parts.keeping.due_in_s) is not None:
            due.append(save_s)
        if (save_s := self._copy.save_in_s) is not None:
            due.append(save_s)
        if (hold_s := parts.holding.due_in_s(now_s)) is not None:
            due.append(hold_s)
        if self._read.is_waiting or parts.delivery.refused:
            due.append(parts.record_at_s - now_s)
        return max(0.0, min(due))

    def _show(self) -> None:
        parts = self._parts
        self._showing.show(
            parts.segments,
            parts.looking,
            parts.holding,
            parts.delivery,
            parts.keeping,
            parts.leaving,
            copy_save_trouble=self._copy.trouble,
            is_stopping=parts.is_stopping,
        )

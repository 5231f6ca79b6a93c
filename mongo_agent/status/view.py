"""What the agent reports over HTTP: its facts are gathered here, and one `Health` follows from
them."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from commitlog import Unregistered
from mongo_agent.metrics import MongoMetrics
from mongo_agent.pipeline import Pipeline, StreamView, View
from mongo_agent.server.oplog_monitor import OplogMonitor
from mongo_agent.status.conditions import copy_component, status_from, stream_component
from mongo_agent.status.facts import Facts, StreamFacts
from sidecar.check.finding import Finding
from sidecar.http.server import Build, ProbeResult
from sidecar.page.summary import duration_text
from sidecar.schema_registry import Registrar
from sidecar.schema_registry.health import registry_component
from sidecar.sinks.base import SinkState
from sidecar.status import (
    Component,
    Health,
    Status,
    component_of,
    health_of,
)

SERVICE_NAME = "cdc-sidecar-mongo"

_STALLED_S = 120.0
"""A turn is never this long unless the disk or the sink's client hangs."""


class MongoStatus:
    """Looks at the pipeline from the server's threads; never waits."""

    def __init__(
        self,
        version: str,
        metrics: MongoMetrics,
        quarantine_max_bytes: int,
        quarantine_directory: str = "quarantine",
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`clock` gives seconds and is the pipeline's."""
        self._version = version
        self._metrics = metrics
        self._rendering = threading.Lock()
        self._quarantine_max_bytes = quarantine_max_bytes
        self._quarantine_directory = quarantine_directory
        self._clock = clock
        self._pipeline: Pipeline | None = None
        self._oplog: OplogMonitor | None = None
        self._start_error = ""
        self.findings: Callable[[], Sequence[Finding]] = tuple
        """The last findings of the checks that are repeated."""
        self._offset_note = ""
        self._registrar: Registrar[Unregistered] | None = None

    def attach_registrar(self, registrar: Registrar[Unregistered]) -> None:
        """Who gets ids for schemas, where keys or values are Avro."""
        self._registrar = registrar

    def attach(self, pipeline: Pipeline, oplog: OplogMonitor) -> None:
        """From now on there is something to tell."""
        self._oplog = oplog
        self._pipeline = pipeline

    def wait_for(self, sentence: str) -> None:
        """What keeps the agent from its start; empty when nothing does any more."""
        self._start_error = sentence

    def note_offsets(self, sentence: str) -> None:
        """What a person should know about the progress that was found at the start."""
        self._offset_note = sentence

    @property
    def _waiting(self) -> str:
        return self._start_error or "starting"

    @property
    def view(self) -> View | None:
        """The pipeline's, once there is one."""
        return None if self._pipeline is None else self._pipeline.view

    def sink_state(self) -> SinkState | None:
        """That of the sink; None before the pipeline has opened it."""
        return None if self.view is None else self.view.delivery.sink

    def server_error(self) -> str:
        """Why the server is not reached at present; empty while it is."""
        if self.view is None:
            return self._start_error
        closed = (stream.state.sentence for stream in self.view.streams if not stream.state.is_open)
        return next(closed, "")

    def build(self) -> Build:
        return Build(SERVICE_NAME, self._version)

    def live(self) -> ProbeResult:
        if self._pipeline is None:
            return ProbeResult(True, self._waiting)
        idle_s = self._stalled_s()
        if idle_s:
            return ProbeResult(False, f"the pipeline has not moved for {idle_s:.0f} s")
        return ProbeResult(True, "the pipeline moves")

    def ready(self) -> ProbeResult:
        if self._pipeline is None:
            return ProbeResult(False, self._waiting)
        view = self._pipeline.view
        if view.is_stopping:
            return ProbeResult(False, "the agent is stopping")
        if not view.delivery.sink.healthy:
            return ProbeResult(False, view.delivery.sink.message)
        for stream in view.streams:
            if not stream.state.is_open:
                return ProbeResult(False, stream.state.sentence)
        return ProbeResult(
            bool(view.streams), "the agent delivers" if view.streams else self._waiting
        )

    def facts(self) -> Facts:
        """Everything that the status follows from, as it is now."""
        view = self.view
        if view is None:
            return Facts(
                is_started=False,
                start_error=self._start_error,
                streams=(),
                findings=tuple(self.findings()),
            )
        return Facts(
            is_stopping=view.is_stopping,
            stalled_s=self._stalled_s(),
            sink=view.delivery.sink,
            unacknowledged_events=view.delivery.unacknowledged_events,
            streams=tuple(map(self._stream_facts, view.streams)),
            save_error=view.save_error,
            record_error=view.record_error,
            quarantine=view.quarantine,
            quarantine_directory=self._quarantine_directory,
            registry_error="" if self._registrar is None else self._registrar.error,
            findings=tuple(self.findings()),
        )

    def status(self) -> Status:
        """What follows from the facts, for the log."""
        return status_from(self.facts())

    def health(self) -> Health:
        status, view = self.status(), self.view
        parts = [component_of(status, "pipeline", "the pipeline moves")]
        if self._registrar is not None and self._registrar.is_used:
            parts.append(registry_component(status, self._registrar))
        if view is not None:
            parts += self._of_view(status, view)
        return health_of(status, "" if view is None else delivered_sentence(view), parts)

    def components(self) -> Sequence[Component]:
        """Those of the present health."""
        return self.health().components

    def offsets(self) -> Mapping[str, object]:
        if self._pipeline is None:
            return {"stored": {}, "reached": {}}
        view = self._pipeline.view
        return {"stored": view.stored.values(), "reached": view.reached.values()}

    def metrics(self) -> bytes:
        with self._rendering:
            if self._oplog is not None:
                self._oplog.set_gauges(self._metrics)
            self._metrics.delivery.status.set(self.status())
            return self._metrics.delivery.render()

    def _stalled_s(self) -> float:
        """How long ago the last turn was, when that is too long; else 0."""
        if self._pipeline is None:
            return 0.0
        idle_s = self._clock() - self._pipeline.last_tick_s
        return idle_s if idle_s > _STALLED_S else 0.0

    def _stream_facts(self, stream: StreamView) -> StreamFacts:
        facts = StreamFacts(
            stream.name,
            stream.state.is_open,
            stream.state.sentence,
            snapshot_error=stream.copy_error,
        )
        if self._oplog is None:
            return facts
        return replace(facts, concern=self._oplog.warning(stream.name))

    def _of_view(self, status: Status, view: View) -> Iterator[Component]:
        yield component_of(
            status,
            "sink",
            view.delivery.sink.message,
            {
                "unacknowledged_events": view.delivery.unacknowledged_events,
                "unacknowledged_age_s": round(view.delivery.unacknowledged_age_s, 3),
                "lag_s": round(view.lag_s, 3),
            },
        )
        for stream in view.streams:
            yield self._stream(status, stream)
        for stream in view.streams:
            yield _copies(status, stream)
        yield component_of(
            status, "offsets", self._offset_note or "progress is saved as it is made"
        )
        yield component_of(
            status,
            "quarantine",
            "nothing is kept",
            {
                "bytes": view.quarantine.size_bytes,
                "refused_events": view.quarantine.refused_events,
                "gaps": view.quarantine.gaps,
                "max_bytes": self._quarantine_max_bytes,
            },
        )

    def _stream(self, status: Status, stream: StreamView) -> Component:
        details: dict[str, object] = {
            "cluster_time": str(stream.read_time),
            "age_s": round(max(0.0, time.time() - stream.read_time.second), 3),
            "reopenings": stream.state.reopenings,
        }
        if self._oplog is not None:
            details |= self._oplog.details(stream.name)
        return component_of(status, stream_component(stream.name), stream.state.sentence, details)


def delivered_sentence(view: View) -> str:
    """How far delivery is, for an agent without conditions."""
    waiting = view.delivery.unacknowledged_events
    copying = sum(stream.copies.remaining_collections for stream in view.streams)
    also = f" {copying} collections are being copied." if copying else ""
    if not waiting:
        return "All changes that the server has told are delivered." + also
    return (
        f"Events go through; {waiting} wait for the sink, and the last change "
        f"that is delivered is {duration_text(view.lag_s)} old.{also}"
    )


def _copies(status: Status, stream: StreamView) -> Component:
    copies = stream.copies
    sentence = "nothing is to be copied"
    if copies.is_running:
        sentence = f"{copies.remaining_collections} collections are being copied"
        if copies.remaining_s is not None:
            sentence += f", for about {copies.remaining_s:.0f} s more"
    if copies.is_paused:
        sentence = "copies are paused; `resume-snapshot` lets them go on"
    details = {"is_running": copies.is_running, "is_paused": copies.is_paused}
    return component_of(status, copy_component(stream.name), sentence, details)

"""What the agent tells of itself over HTTP: verdicts and sentences made of the pipeline's view."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from commitlog import Unregistered
from mongo_agent.metrics import MongoMetrics
from mongo_agent.oplog_watch import OplogWatch
from mongo_agent.pipeline import LaneView, Pipeline, View
from sidecar.http import Build, Component, Verdict
from sidecar.schema_registry import Registrar
from sidecar.schema_registry.health import registry_component

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
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`clock` gives seconds and is the pipeline's."""
        self._version = version
        self._metrics = metrics
        self._quarantine_max_bytes = quarantine_max_bytes
        self._clock = clock
        self._pipeline: Pipeline | None = None
        self._oplog: OplogWatch | None = None
        self._waiting = "starting"
        self._offset_note = ""
        self._registrar: Registrar[Unregistered] | None = None

    def attach_registrar(self, registrar: Registrar[Unregistered]) -> None:
        """Who gets ids for schemas, where keys or values are Avro."""
        self._registrar = registrar

    def attach(self, pipeline: Pipeline, oplog: OplogWatch) -> None:
        """From now on there is something to tell."""
        self._oplog = oplog
        self._pipeline = pipeline

    def wait_for(self, sentence: str) -> None:
        """What keeps the agent from its start."""
        self._waiting = sentence

    def note_offsets(self, sentence: str) -> None:
        """What a person should know about the progress that was found at the start."""
        self._offset_note = sentence

    @property
    def view(self) -> View | None:
        """The pipeline's, once there is one."""
        return None if self._pipeline is None else self._pipeline.view

    def build(self) -> Build:
        return Build(SERVICE_NAME, self._version)

    def live(self) -> Verdict:
        if self._pipeline is None:
            return Verdict(True, self._waiting)
        idle_s = self._clock() - self._pipeline.moved_at_s
        if idle_s > _STALLED_S:
            return Verdict(False, f"the pipeline has not moved for {idle_s:.0f} s")
        return Verdict(True, "the pipeline moves")

    def ready(self) -> Verdict:
        if self._pipeline is None:
            return Verdict(False, self._waiting)
        view = self._pipeline.view
        if view.is_stopping:
            return Verdict(False, "the agent is stopping")
        if not view.sink.healthy:
            return Verdict(False, view.sink.sentence)
        for lane in view.lanes:
            if not lane.stream.is_open:
                return Verdict(False, lane.stream.sentence)
        return Verdict(bool(view.lanes), "the agent delivers" if view.lanes else self._waiting)

    def components(self) -> Sequence[Component]:
        live = self.live()
        found = [Component("pipeline", live.ok, live.sentence)]
        if self._registrar is not None and self._registrar.is_used:
            found.append(registry_component(self._registrar))
        if self._pipeline is not None:
            found += self._of_view(self._pipeline.view)
        return found

    def offsets(self) -> Mapping[str, object]:
        if self._pipeline is None:
            return {"stored": {}, "reached": {}}
        view = self._pipeline.view
        return {"stored": view.stored.values(), "reached": view.reached.values()}

    def metrics(self) -> bytes:
        if self._oplog is not None:
            self._oplog.set_gauges(self._metrics)
        return self._metrics.delivery.render()

    def _of_view(self, view: View) -> Iterator[Component]:
        yield Component(
            "sink",
            view.sink.healthy,
            view.sink.sentence,
            {
                "unacknowledged_events": view.unacknowledged_events,
                "unacknowledged_age_s": round(view.unacknowledged_age_s, 3),
                "lag_s": round(view.lag_s, 3),
            },
        )
        yield from map(self._stream, view.lanes)
        yield from map(_copies, view.lanes)
        yield Component(
            "offsets",
            not view.save_trouble,
            view.save_trouble or self._offset_note or "progress is saved as it is made",
        )
        yield Component(
            "quarantine",
            not view.quarantine_trouble,
            view.quarantine_trouble
            or ("something is kept" if view.quarantine_bytes else "nothing is kept"),
            {"bytes": view.quarantine_bytes, "max_bytes": self._quarantine_max_bytes},
        )

    def _stream(self, lane: LaneView) -> Component:
        details: dict[str, object] = {
            "cluster_time": str(lane.read_time),
            "age_s": round(max(0.0, time.time() - lane.read_time.second), 3),
            "reopenings": lane.stream.reopenings,
        }
        trouble = ""
        if self._oplog is not None:
            details |= self._oplog.details(lane.name)
            trouble = self._oplog.trouble(lane.name)
        name = f"stream {lane.name}" if lane.name else "stream"
        sentence = trouble or lane.stream.sentence
        return Component(name, lane.stream.is_open and not trouble, sentence, details)


def _copies(lane: LaneView) -> Component:
    name = f"copy {lane.name}" if lane.name else "copy"
    copies = lane.copies
    sentence = "nothing is to be copied"
    if copies.is_running:
        sentence = f"{copies.remaining_collections} collections are being copied"
        if copies.remaining_s is not None:
            sentence += f", for about {copies.remaining_s:.0f} s more"
    if copies.is_paused:
        sentence = "copies are paused; `resume-snapshot` lets them go on"
    return Component(
        name, True, sentence, {"is_running": copies.is_running, "is_paused": copies.is_paused}
    )

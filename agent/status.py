"""What the agent tells of itself over HTTP: verdicts and sentences made of the pipeline's view."""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from agent.metrics import AgentMetrics
from agent.pipeline import Pipeline, View
from agent.quarantine import Usage
from agent.raw_growth import full_in_s
from agent.schema import SchemaHolder
from agent.segments import Phase
from agent.snapshot.snapshot import Snapshot
from agent.snapshot.status import set_gauges, snapshot_component
from agent.transfer import Backlog
from commitlog import Unregistered
from sidecar.http import Build, Component, Verdict
from sidecar.schema_registry import Registrar
from sidecar.schema_registry.health import registry_component

SERVICE_NAME = "cdc-sidecar-cassandra"

_STALLED_S = 120.0
"""A turn is never this long unless the disk or the sink's client hangs."""

_NEARLY_FULL = 0.9
"""Of what the node lets `cdc_raw` grow to."""


class AgentStatus:
    """Looks at the pipeline and the schema from the server's threads; never waits."""

    def __init__(
        self,
        version: str,
        holder: SchemaHolder,
        metrics: AgentMetrics,
        quarantine_max_bytes: int,
        cdc_raw_directory: Path,
        raw_limit_bytes: int | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`raw_limit_bytes` is None where nothing tells; `clock` gives seconds and is the
        pipeline's."""
        self._version = version
        self._holder = holder
        self._metrics = metrics
        self._quarantine_max_bytes = quarantine_max_bytes
        self._directory = cdc_raw_directory
        self.raw_limit_bytes = raw_limit_bytes
        self._offset_note = ""
        self._clock = clock
        self._pipeline: Pipeline | None = None
        self.snapshot: Snapshot | None = None
        """None while the agent starts, and where the node is not asked."""
        self.registrar: Registrar[Unregistered] | None = None

    def attach(self, pipeline: Pipeline, snapshot: Snapshot | None = None) -> None:
        """From now on there is something to tell."""
        self._pipeline = pipeline
        self.snapshot = snapshot

    def note_offsets(self, sentence: str) -> None:
        """What a person should know about the progress that was found at the start."""
        self._offset_note = sentence

    def wake(self) -> None:
        """The schema changed: the pipeline and the snapshot should see it."""
        if self._pipeline is not None:
            self._pipeline.wake()
        if self.snapshot is not None:
            self.snapshot.wake()

    def wake_pipeline(self) -> None:
        """Something is ready for the pipeline."""
        if self._pipeline is not None:
            self._pipeline.wake()

    @property
    def view(self) -> View | None:
        """The pipeline's, once there is one."""
        return None if self._pipeline is None else self._pipeline.view

    @property
    def raw_full_in_s(self) -> float:
        """Seconds until `cdc_raw` is full; infinite: it does not grow, not a number: not known."""
        view = self.view
        if view is None:
            return math.nan
        return full_in_s(view.raw_bytes, self.raw_limit_bytes, view.raw_growth_bytes_per_s)

    def build(self) -> Build:
        return Build(SERVICE_NAME, self._version)

    def live(self) -> Verdict:
        if self._pipeline is None:
            return Verdict(True, self._start_sentence())
        idle_s = self._clock() - self._pipeline.moved_at_s
        if idle_s > _STALLED_S:
            return Verdict(False, f"the pipeline has not moved for {idle_s:.0f} s")
        return Verdict(True, "the pipeline moves")

    def ready(self) -> Verdict:
        if self._pipeline is None:
            return Verdict(False, self._start_sentence())
        view = self._pipeline.view
        if view.is_stopping:
            return Verdict(False, "the agent is stopping")
        return Verdict(view.sink.healthy, view.sink.sentence)

    def components(self) -> Sequence[Component]:
        live = self.live()
        found = [Component("pipeline", live.ok, live.sentence), self._schema()]
        if self.registrar is not None and self.registrar.is_used:
            found.append(registry_component(self.registrar))
        if self._pipeline is not None:
            found += self._of_view(self._pipeline.view)
        if self.snapshot is not None:
            trouble = "" if self.view is None else self.view.copy_save_trouble
            found.append(snapshot_component(self.snapshot, trouble))
        return found

    def offsets(self) -> Mapping[str, object]:
        if self._pipeline is None:
            return {"stored": {}, "reached": {}, "segments": []}
        view = self._pipeline.view
        return {
            "stored": view.stored.to_entries(),
            "reached": view.ledger.to_entries(),
            "segments": [
                {
                    "segment": segment.name.log,
                    "state": segment.phase.value,
                    "idx_position": segment.idx.offset,
                    "completed": segment.idx.completed,
                    "read_position": segment.read_position,
                    "acknowledged_position": segment.acknowledged_position,
                }
                for segment in view.segments
            ],
        }

    def metrics(self) -> bytes:
        self._metrics.schema_tables.set(self._holder.table_count)
        self._metrics.raw_full_seconds.set(self.raw_full_in_s)
        if self.snapshot is not None:
            set_gauges(self.snapshot, self._metrics)
        return self._metrics.delivery.render()

    def _start_sentence(self) -> str:
        reason = self._holder.last_error
        return f"waiting for the first schema: {reason}" if reason else "starting"

    def _schema(self) -> Component:
        known = self._holder.table_count
        error = self._holder.last_error
        if error is None and known:
            return Component("schema", True, f"{known} tables are known", {"tables": known})
        sentence = error or "not known yet"
        if known:
            sentence = f"the last known schema with {known} tables is used: {sentence}"
        return Component("schema", bool(known), sentence, {"tables": known})

    def _of_view(self, view: View) -> Iterator[Component]:
        yield Component(
            "sink",
            view.sink.healthy,
            view.sink.sentence,
            {
                "unacknowledged_events": view.unacknowledged_events,
                "unacknowledged_age_s": round(view.unacknowledged_age_s, 3),
            },
        )
        yield self._raw(view)
        yield Component(
            "offsets",
            not view.save_trouble,
            view.save_trouble or self._offset_note or "progress is saved as it is made",
        )
        yield Component(
            "quarantine",
            not view.leave_trouble,
            view.leave_trouble or _quarantine_sentence(view.quarantine),
            {
                "bytes": view.quarantine.size_bytes,
                "segments": view.quarantine.segments,
                "max_bytes": self._quarantine_max_bytes,
            },
        )

        if view.backlog is not None:
            yield _transfer(view.backlog)

    def _raw(self, view: View) -> Component:
        details: dict[str, object] = {
            "bytes": view.raw_bytes,
            "limit_bytes": self.raw_limit_bytes,
            "lag_bytes": view.lag_bytes,
            "lag_s": round(view.lag_s, 3),
            "segments": {phase.value: view.count_by_phase.get(phase, 0) for phase in Phase},
        }
        if view.hold is not None:
            sentence = f"{view.hold.segment} is held for {view.hold.for_s:.0f} s: "
            return Component("cdc_raw", False, sentence + view.hold.sentence, details)
        if view.look_trouble:
            return Component("cdc_raw", False, view.look_trouble, details)
        if view.refused_files:
            details["no_segments"] = view.refused_files[:5]
        if view.watch_trouble:
            # Rescans go on, so nothing is lost: it only takes longer.
            details["watch"] = view.watch_trouble
        if self.raw_limit_bytes and view.raw_bytes >= _NEARLY_FULL * self.raw_limit_bytes:
            sentence = (
                f"{self._directory} has {view.raw_bytes} of {self.raw_limit_bytes} bytes; when it "
                "is full, the node refuses writes or drops segments unread. See that events are "
                "delivered, or raise cdc_total_space."
            )
            return Component("cdc_raw", False, sentence, details)
        return Component("cdc_raw", True, f"{self._directory} is followed", details)


def _transfer(backlog: Backlog) -> Component:
    waiting = (
        f"{backlog.segments} finished segments ({backlog.size_bytes} of {backlog.max_bytes} bytes) "
        f"wait for {backlog.where}"
    )
    sentence = f"finished segments are in {backlog.where}" if not backlog.segments else waiting
    if backlog.trouble:
        sentence = f"{backlog.trouble} {waiting}; those that have no room stay in cdc_raw."
    details = {
        "segments": backlog.segments,
        "bytes": backlog.size_bytes,
        "max_bytes": backlog.max_bytes,
    }
    return Component("transfer", not backlog.trouble, sentence, details)


def _quarantine_sentence(usage: Usage) -> str:
    if not usage.segments:
        return "nothing is kept"
    return f"segments with ranges or events that were not delivered: {usage.segments}"

"""What the agent reports over HTTP: its facts are gathered here, and one `Health` follows from
them."""

import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from agent.cdc_raw.disk_forecast import time_to_full_s
from agent.cdc_raw.quota import Quota
from agent.check.publication import Publication
from agent.metrics import AgentMetrics
from agent.pipeline import Pipeline, View
from agent.schema import SchemaHolder
from agent.segments import pinned_by_link
from agent.snapshot.snapshot import Snapshot
from agent.snapshot.status import set_gauges, snapshot_facts
from agent.status.components import components_of
from agent.status.conditions import status_from
from agent.status.facts import Facts, SchemaFacts
from commitlog import Schema, Unregistered
from sidecar.check.finding import Finding
from sidecar.http.server import Build, ProbeResult
from sidecar.page.summary import duration_text, size_text
from sidecar.schema_registry import Registrar
from sidecar.sinks.base import SinkState
from sidecar.status import Component, Health, Status, health_of

SERVICE_NAME = "cdc-sidecar-cassandra"

_STALLED_S = 120.0
"""A turn is never this long unless the disk or the sink's client hangs."""


class AgentStatus:
    """Looks at the pipeline and the schema from other threads; never waits."""

    def __init__(
        self,
        version: str,
        holder: SchemaHolder,
        metrics: AgentMetrics,
        quarantine_max_bytes: int,
        cdc_raw_directory: Path,
        quota: Quota | None = None,
        publication: Callable[[Schema], Publication] | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`publication` says which tables of a schema are published; `clock` gives seconds and is
        the pipeline's."""
        self._version = version
        self._holder = holder
        self._metrics = metrics
        self._rendering = threading.Lock()
        self._quarantine_max_bytes = quarantine_max_bytes
        self._directory = cdc_raw_directory
        self._quota = Quota()
        self._publication = publication
        self._offset_note = ""
        self._clock = clock
        self._pipeline: Pipeline | None = None
        self.snapshot: Snapshot | None = None
        """None while the agent starts, and where the node is not asked."""
        self.registrar: Registrar[Unregistered] | None = None
        self.findings: Callable[[], Sequence[Finding]] = tuple
        """The last findings of the checks that are repeated."""
        self.note_quota(quota or Quota())

    def attach(self, pipeline: Pipeline, snapshot: Snapshot | None = None) -> None:
        """From now on there is something to report."""
        self._pipeline = pipeline
        self.snapshot = snapshot

    def note_offsets(self, sentence: str) -> None:
        """What a person should know about the progress that was found at the start."""
        self._offset_note = sentence

    def note_quota(self, quota: Quota) -> None:
        """How large `cdc_raw` may grow. Any thread may call it."""
        self._quota = quota
        # Not a number: a ratio with it is none either, and raises no alarm.
        limit_bytes = quota.limit_bytes
        self._metrics.raw_limit_bytes.set(math.nan if limit_bytes is None else limit_bytes)

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

    def sink_state(self) -> SinkState | None:
        """That of the sink; None before the pipeline has opened it."""
        return None if self.view is None else self.view.delivery.sink

    @property
    def raw_limit_bytes(self) -> int | None:
        """Size at which `cdc_raw` is full; None where it is not known."""
        return self._quota.limit_bytes

    @property
    def raw_full_in_s(self) -> float:
        """Seconds until `cdc_raw` is full; infinite: it does not grow, not a number: not known."""
        view = self.view
        if view is None:
            return math.nan
        return time_to_full_s(view.raw_bytes, self.raw_limit_bytes, view.raw_growth_bytes_per_s)

    def build(self) -> Build:
        return Build(SERVICE_NAME, self._version)

    def live(self) -> ProbeResult:
        if self._pipeline is None:
            return ProbeResult(True, self._start_sentence())
        idle_s = self._stalled_s()
        if idle_s:
            return ProbeResult(False, f"the pipeline has not moved for {idle_s:.0f} s")
        return ProbeResult(True, "the pipeline moves")

    def ready(self) -> ProbeResult:
        if self._pipeline is None:
            return ProbeResult(False, self._start_sentence())
        view = self._pipeline.view
        if view.is_stopping:
            return ProbeResult(False, "the agent is stopping")
        return ProbeResult(view.delivery.sink.healthy, view.delivery.sink.message)

    def facts(self) -> Facts:
        """Everything that the status follows from, as it is now."""
        schema = SchemaFacts(self._holder.table_count, self._holder.last_error or "")
        publication, view = self._published(), self.view
        if view is None:
            return Facts(
                is_started=False,
                schema=schema,
                publication=publication,
                findings=tuple(self.findings()),
            )
        return Facts(
            is_stopping=view.is_stopping,
            stalled_s=self._stalled_s(),
            schema=schema,
            sink=view.delivery.sink,
            unacknowledged_events=view.delivery.unacknowledged_events,
            cdc_raw_directory=self._directory,
            raw_bytes=view.raw_bytes,
            quota=self._quota,
            blocked=view.blocked,
            read_error=view.read_error,
            irregular_segments=view.irregular_segments,
            watch_error=view.watch_error,
            save_error=view.save_error,
            record_error=view.record_error,
            pinned_by_link=tuple(name.log for name in pinned_by_link(view.segments)),
            removal_error=view.removal_error,
            retry_error=view.retry_error,
            quarantine=view.quarantine,
            backlog=view.backlog,
            snapshot=snapshot_facts(self.snapshot, view.snapshot_save_error),
            registry_error="" if self.registrar is None else self.registrar.error,
            publication=publication,
            findings=tuple(self.findings()),
        )

    def status(self) -> Status:
        """What follows from the facts, for the log."""
        return status_from(self.facts())

    def health(self) -> Health:
        facts, view = self.facts(), self.view
        status = status_from(facts)
        parts = components_of(
            status,
            facts,
            view,
            quarantine_max_bytes=self._quarantine_max_bytes,
            offset_note=self._offset_note,
            registrar=self.registrar,
            snapshot=self.snapshot,
        )
        return health_of(status, "" if view is None else delivered_sentence(view), parts)

    def components(self) -> Sequence[Component]:
        """Those of the present health."""
        return self.health().components

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
        with self._rendering:
            facts = self.facts()
            self._metrics.schema_tables.set(facts.schema.tables)
            published = facts.publication
            self._metrics.published_tables.set(len(published.published) if published else math.nan)
            self._metrics.raw_full_seconds.set(self.raw_full_in_s)
            if self.snapshot is not None:
                set_gauges(self.snapshot, self._metrics)
            self._metrics.delivery.status.set(status_from(facts))
            return self._metrics.delivery.render()

    def _start_sentence(self) -> str:
        reason = self._holder.last_error
        return f"waiting for the first schema: {reason}" if reason else "starting"

    def _stalled_s(self) -> float:
        """How long ago the last turn was, when that is too long; else 0."""
        if self._pipeline is None:
            return 0.0
        idle_s = self._clock() - self._pipeline.last_tick_s
        return idle_s if idle_s > _STALLED_S else 0.0

    def _published(self) -> Publication | None:
        schema = self._holder.latest()
        if schema is None or self._publication is None:
            return None
        return self._publication(schema)


def delivered_sentence(view: View) -> str:
    """How far delivery is, for an agent without conditions."""
    if not view.lag_bytes and not view.delivery.unacknowledged_events:
        return "All changes that the node has synced are delivered."
    return (
        f"Events go through; {size_text(view.lag_bytes)} wait, and the last change that is "
        f"delivered is {duration_text(view.lag_s)} old."
    )

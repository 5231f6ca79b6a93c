"""The status of a running agent for HTTP, the log and the metrics."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

from sidecar.check.check import Finding
from sidecar.health.condition import Component, Health, Status, component_of, health_of
from sidecar.history.recorder import Column
from sidecar.http.server import ProbeResult
from sidecar.instance import Instance
from sidecar.metrics import DeliveryMetrics
from sidecar.quantities import duration_text
from sidecar.schema_registry.registrar import Registrar
from sidecar.sinks.base import NOT_OPEN, SinkState
from sidecar.status.findings import MaskedCauses
from sidecar.status.publisher import ViewOf

_STALLED_S = 120.0
"""No tick takes this long unless the disk or the sink's client hangs."""

_ACKNOWLEDGED = "cdc_events_acknowledged_total"

HISTORY_COLUMNS = (
    Column("status"),
    Column("lag_s"),
    Column("events_per_s", "rate"),
    Column("unacknowledged_events"),
    Column("quarantined"),
)
"""Columns of the history that both agents share."""

ViewOf_co = TypeVar("ViewOf_co", covariant=True)


class RunningPipeline(Protocol[ViewOf_co]):
    """A pipeline as other threads see it."""

    @property
    def view(self) -> ViewOf_co: ...
    @property
    def last_tick_s(self) -> float: ...


class StatusReporter(ABC, Generic[ViewOf]):
    """Reads the pipeline from other threads and never waits. Each agent implements the abstract
    methods for its own parts."""

    def __init__(
        self,
        service_name: str,
        version: str,
        metrics: DeliveryMetrics,
        clock: Callable[[], float],
    ) -> None:
        """`clock` returns seconds and must be the pipeline's clock."""
        self._instance = Instance(service_name, version)
        self._destination = ""
        self._fingerprint = ""
        self._started_s = clock()
        self._delivery_metrics = metrics
        self._clock = clock
        self._rendering = threading.Lock()
        self._pipeline: RunningPipeline[ViewOf] | None = None
        self._offset_note = ""
        self.registrar: Registrar | None = None
        """None if no schema needs an id."""
        self.findings: Callable[[Mapping[str, float]], Sequence[Finding]] = lambda reported_s: ()
        """As `PeriodicChecks.findings`."""
        self.masked_causes = MaskedCauses()

    @abstractmethod
    def status(self) -> Status:
        """Return the conditions that follow from the current facts."""

    @abstractmethod
    def own_components(self, status: Status, view: ViewOf | None) -> Iterator[Component]:
        """Yield components for the agent's own parts, in the order in which events pass them."""

    @abstractmethod
    def quarantine_details(self, view: ViewOf) -> Mapping[str, object]:
        """Describe the content of the quarantine, for JSON."""

    @abstractmethod
    def start_message(self) -> str:
        """Say why there is no pipeline yet."""

    @abstractmethod
    def delivered_message(self, view: ViewOf) -> str:
        """Describe the progress of delivery, for an agent without conditions."""

    @abstractmethod
    def not_ready_message(self, view: ViewOf) -> str:
        """Say why an agent with a healthy sink delivers nothing; empty if it delivers."""

    @abstractmethod
    def set_gauges(self) -> None:
        """Sets the gauges that are not part of the pipeline's view."""

    @abstractmethod
    def offsets(self) -> Mapping[str, object]:
        """Return stored and acknowledged positions, for JSON."""

    def idle_message(self) -> str:
        """Say why an agent without conditions has no pipeline."""
        return ""

    def own_sample(self, view: ViewOf) -> Mapping[str, float]:
        """Return the values of the agent's own history columns; missing or NaN means unknown."""
        return {}

    def sample(self) -> Mapping[str, float]:
        view = self.view
        found = {"status": float(self.status().state.severity)}
        if view is None:
            return found
        acknowledged = self._delivery_metrics.registry.get_sample_value(_ACKNOWLEDGED)
        return {
            **found,
            "lag_s": view.lag_s,
            "events_per_s": acknowledged or 0.0,
            "unacknowledged_events": view.delivery.unacknowledged_events,
            **self.own_sample(view),
        }

    def note_offsets(self, message: str) -> None:
        """Set a note for the operator about the progress that was found at startup."""
        self._offset_note = message

    @property
    def view(self) -> ViewOf | None:
        """The pipeline's view, or None before the pipeline exists."""
        return None if self._pipeline is None else self._pipeline.view

    def sink_state(self) -> SinkState:
        """Return the state of the sink, even before the pipeline has opened it."""
        return NOT_OPEN if self.view is None else self.view.delivery.sink

    def service_facts(self) -> dict[str, Any]:
        """Return the current arguments for `ServiceFacts`."""
        findings = tuple(self.findings(self.masked_causes.reported_s))
        if (view := self.view) is None:
            return {"is_started": False, "findings": findings}
        return {
            "is_stopping": view.is_stopping,
            "stalled_s": self.stalled_s,
            "sink": view.delivery.sink,
            "unacknowledged_events": view.delivery.unacknowledged_events,
            "save_error": view.save_error,
            "record_error": view.record_error,
            "registry_error": "" if self.registrar is None else self.registrar.error,
            "changed_ids": None if self.registrar is None else self.registrar.changed_ids,
            "findings": findings,
        }

    def note_instance(self, instance: Instance) -> None:
        """Replaces the agent's identity, which its metrics then include. Thread-safe."""
        self._instance = instance
        self._delivery_metrics.set_instance(instance)

    def note_configuration(self, destination: str, fingerprint: str) -> None:
        """Sets what `/health` reports about the configuration."""
        self._destination, self._fingerprint = destination, fingerprint

    def instance(self) -> Instance:
        return self._instance

    def about(self) -> Mapping[str, object]:
        return {
            "instance": self._instance.document(),
            "uptime_s": round(self._clock() - self._started_s, 1),
            "destination": self._destination,
            "configuration_fingerprint": self._fingerprint,
        }

    def live(self) -> ProbeResult:
        if self._pipeline is None:
            return ProbeResult(True, self.start_message())
        stalled_s = self.stalled_s
        if stalled_s:
            return ProbeResult(
                False, f"the pipeline made no progress for {duration_text(stalled_s)}"
            )
        return ProbeResult(True, "the pipeline runs")

    def ready(self) -> ProbeResult:
        if (view := self.view) is None:
            return ProbeResult(False, self.start_message())
        if view.is_stopping:
            return ProbeResult(False, "the agent is stopping")
        sink = view.delivery.sink
        if not sink.healthy:
            return ProbeResult(False, sink.explanation)
        error = self.not_ready_message(view)
        return ProbeResult(not error, error or sink.message)

    def health(self) -> Health:
        status, view = self.status(), self.view
        runs = self.start_message() if view is None else "the pipeline runs"
        parts = [component_of(status, "pipeline", runs)]
        parts += self.own_components(status, view)
        if self.registrar is not None and self.registrar.is_used:
            count = self.registrar.registered
            message, details = f"{count} schemas have an id", {"registered": count}
            parts.append(component_of(status, "schema_registry", message, details))
        if view is not None:
            note = self._offset_note or "offsets follow the acknowledged events"
            kept = self.quarantine_details(view)
            parts.append(_sink_component(status, view))
            parts.append(component_of(status, "offsets", note))
            parts.append(component_of(status, "quarantine", "the quarantine is empty", kept))
        message = self.idle_message() if view is None else self.delivered_message(view)
        return health_of(status, message, parts)

    def metrics(self) -> bytes:
        with self._rendering:
            self.set_gauges()
            self._delivery_metrics.set_status(self.status())
            return self._delivery_metrics.render()

    @property
    def stalled_s(self) -> float:
        """Seconds since the latest tick, if that is too long; else 0."""
        if self._pipeline is None:
            return 0.0
        idle_s = self._clock() - self._pipeline.last_tick_s
        return idle_s if idle_s > _STALLED_S else 0.0


def _sink_component(status: Status, view: ViewOf) -> Component:
    delivery = view.delivery
    details = {
        "unacknowledged_events": delivery.unacknowledged_events,
        "unacknowledged_age_s": round(delivery.unacknowledged_age_s, 3),
        "lag_s": round(view.lag_s, 3),
    }
    return component_of(status, "sink", delivery.sink.message, details)

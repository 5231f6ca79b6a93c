"""A status for the HTTP server, set by the test."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from sidecar.health.condition import Condition, Health, component_of, health_of, status_of
from sidecar.http.server import ProbeResult
from sidecar.instance import Instance

HOST = "127.0.0.1"


@dataclass
class FakeStatus:
    """A sidecar whose health the test sets."""

    conditions: list[Condition] = field(default_factory=list)
    is_live: bool = True
    is_ready: bool = True

    def instance(self) -> Instance:
        return Instance("agent", "1.2.3", "host-1", "shop", "lab", "node-1", "dc1", "r1")

    def about(self) -> Mapping[str, object]:
        return {
            "instance": self.instance().document(),
            "uptime_s": 5.0,
            "destination": "kafka a:9092",
        }

    def live(self) -> ProbeResult:
        return ProbeResult(self.is_live, "The loop turns.")

    def ready(self) -> ProbeResult:
        return ProbeResult(self.is_ready, "The sink takes events.")

    def health(self) -> Health:
        status = status_of(self.conditions)
        sink = component_of(status, "sink", "It works.", {"unacknowledged_events": 3})
        return health_of(status, "All is delivered.", [sink])

    def offsets(self) -> Mapping[str, object]:
        return {"stored": {"a.log": 5}}

    def metrics(self) -> bytes:
        return b"cdc_sink_up 1.0\n"

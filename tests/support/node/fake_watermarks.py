"""A node that answers the probes of watermarks, and the watermarks that a sink has."""

from dataclasses import dataclass, field
from typing import Any

import orjson

from agent.schema import NodeIdentity
from agent.snapshot.ring import whole_ring
from agent.watermark.coverage import Coverage
from agent.watermark.message import WatermarkParts, WatermarkSender
from agent.watermark.node_probe import NodeProbe, ProbeResult, Replication
from sidecar.errors import UnavailableError
from tests.support.pipeline.fakes import FakeClock
from tests.support.sinks.memory_sink import MemorySink

TOPIC = "watermarks"
SYNC_LAG_MS = 2_000


@dataclass
class FakeWatermarkNode:
    """Answers at once with the clock of the test. It is the prober, the store and the clock."""

    clock: FakeClock
    generation: int = 1
    is_running: bool = True
    loses_end: bool = True
    stored: Coverage | None = None
    saves: list[Coverage] = field(default_factory=list)
    _result: ProbeResult | None = None

    def now_ms(self) -> int:
        return round(self.clock() * 1000)

    def request(self) -> None:
        self._result = self._answer()

    def take(self) -> ProbeResult | None:
        result, self._result = self._result, None
        return result

    def load(self) -> Coverage | None:
        return self.stored

    def save(self, coverage: Coverage) -> None:
        self.stored = coverage
        self.saves.append(coverage)

    def parts(self, interval_ms: int = 10_000) -> WatermarkParts:
        identity = NodeIdentity("node-1", "c", "dc1", "r1")
        sender = WatermarkSender(TOPIC, "shop", interval_ms, identity, "1.2.3")
        node: Any = self
        return WatermarkParts(sender, node, node, self.now_ms)

    def _answer(self) -> ProbeResult:
        if not self.is_running:
            return UnavailableError("Cassandra at 127.0.0.1:9042 does not answer.")
        return NodeProbe(
            self.now_ms(),
            self.generation,
            "host-1",
            SYNC_LAG_MS,
            self.loses_end,
            ("ks.t",),
            (Replication(("ks",), {"class": "SimpleStrategy"}, whole_ring()),),
            (),
        )


def watermarks(sink: MemorySink) -> list[dict[str, Any]]:
    """The values of the watermarks that the sink took, in order."""
    return [
        orjson.loads(value or b"null")
        for _, (topic, _, value, _, _) in sink.messages
        if topic == TOPIC
    ]

"""What the pipeline needs to send watermarks."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from agent.watermark.coverage import Coverage
from agent.watermark.message import WatermarkSender
from agent.watermark.node_probe import ProbeResult


class ProbeSource(Protocol):
    """See `NodeWatch`."""

    def request(self) -> None: ...
    def take(self) -> ProbeResult | None: ...


class CoverageSource(Protocol):
    """See `CoverageStore`."""

    def load(self) -> Coverage | None: ...
    def save(self, coverage: Coverage) -> None: ...


@dataclass(frozen=True, slots=True)
class WatermarkParts:
    sender: WatermarkSender
    probes: ProbeSource
    store: CoverageSource
    now_ms: Callable[[], int]
    """The time of the machine, which is the node's."""

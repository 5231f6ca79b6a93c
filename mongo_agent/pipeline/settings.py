"""What the pipeline is told by its owner."""

from collections.abc import Callable
from dataclasses import dataclass, field

from sidecar.transform import Transform


@dataclass(frozen=True, slots=True)
class HeartbeatSettings:
    """Every `interval_ms` a message goes to `topic`; 0: never. `encode` gives key and value by a
    time in milliseconds; None while a schema registry has no ids for them."""

    interval_ms: int = 0
    topic: str = ""
    encode: Callable[[int], tuple[bytes, bytes] | None] = lambda ts_ms: None


@dataclass(frozen=True, slots=True)
class PipelineSettings:
    """Bounds and periods of one pipeline."""

    window_max_events: int
    window_max_bytes: int
    offset_flush_interval_ms: int
    is_streamed: bool = True
    """False: it ends when everything is copied."""
    heartbeat: HeartbeatSettings = field(default_factory=HeartbeatSettings)
    waits_when_refused: bool = True
    """Whether a sink that refuses the agent is tried again, or its error raised."""
    transform: Transform | None = None
    """Every event goes through it on its way to the sink."""

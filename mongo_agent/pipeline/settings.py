"""The settings of a pipeline."""

from collections.abc import Callable
from dataclasses import dataclass, field

from sidecar.sinks.kafka.dead_letter_topic import DeadLetterTopic
from sidecar.transform import Transform


@dataclass(frozen=True, slots=True)
class HeartbeatSettings:
    """The agent sends a message to `topic` every `interval_ms`; 0: never. `encode` makes key and
    value from a time in milliseconds; it returns None while their schemas have no ids."""

    interval_ms: int = 0
    topic: str = ""
    encode: Callable[[int], tuple[bytes, bytes] | None] = lambda ts_ms: None


@dataclass(frozen=True, slots=True)
class PipelineSettings:
    window_max_events: int
    window_max_bytes: int
    offset_flush_interval_ms: int
    is_streamed: bool = True
    """False: the agent ends after the snapshots."""
    heartbeat: HeartbeatSettings = field(default_factory=HeartbeatSettings)
    waits_when_denied: bool = True
    """Whether the agent retries a sink that denies it access, or raises the error."""
    transform: Transform | None = None
    """Applied to every event before the sink."""
    dead_letter_topic: DeadLetterTopic | None = None
    """Takes the events that the broker rejects."""

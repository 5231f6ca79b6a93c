"""The settings of a pipeline."""

from dataclasses import dataclass
from pathlib import Path

from sidecar.sinks.kafka.dead_letter_topic import DeadLetterTopic
from sidecar.tracing import Tracing
from sidecar.transform import Transform


@dataclass(frozen=True, slots=True)
class PipelineSettings:
    cdc_raw_directory: Path
    window_max_events: int
    window_max_bytes: int
    poll_interval_ms: int
    """Between periodic scans."""
    offset_flush_interval_ms: int
    blocked_timeout_ms: int
    """How long an unreadable record may block its segment."""
    commit_log_directory: Path | None = None
    """The directory with the node's own links of the segments."""
    deletes_at_bytes: int | None = None
    """Size of `cdc_raw` at which the node deletes segments unread; None when it rejects writes."""
    waits_when_denied: bool = True
    """Whether the agent retries a sink that denies it access, or raises the error."""
    transform: Transform | None = None
    """Applied to every event before the sink."""
    dead_letter_topic: DeadLetterTopic | None = None
    """Takes the events that the broker rejects."""
    tracing: Tracing | None = None
    """Makes a span of every batch, and of every segment."""
    batch_max_events: int = 5000
    batch_max_bytes: int = 1 << 20

    @property
    def read_max_events(self) -> int:
        """Events of one read: at most a quarter of the window, so that reads and delivery overlap
        and a started read always fits."""
        return max(1, min(self.batch_max_events, self.window_max_events // 4))

    @property
    def read_max_bytes(self) -> int:
        return max(1, min(self.batch_max_bytes, self.window_max_bytes // 4))

"""What the pipeline is told by its owner."""

from dataclasses import dataclass
from pathlib import Path

from sidecar.tracing import Tracing
from sidecar.transform import Transform


@dataclass(frozen=True, slots=True)
class PipelineSettings:
    """Bounds and periods of one pipeline."""

    cdc_raw_directory: Path
    window_max_events: int
    window_max_bytes: int
    poll_interval_ms: int
    """Between looks that nothing asked for."""
    offset_flush_interval_ms: int
    blocked_timeout_ms: int
    """How long a record that cannot be read holds its segment."""
    commit_log_directory: Path | None = None
    """Where the node may keep its own links of the segments."""
    deletes_at_bytes: int | None = None
    """Size of `cdc_raw` at which the node deletes segments unread; None when it rejects writes."""
    waits_when_refused: bool = True
    """Whether a sink that refuses the agent is tried again, or its error raised."""
    transform: Transform | None = None
    """Every event goes through it on its way to the sink."""
    tracing: Tracing | None = None
    """Makes a span of every batch, and of every segment."""
    batch_max_events: int = 5000
    batch_max_bytes: int = 1 << 20

    @property
    def read_max_events(self) -> int:
        """Events of one read. A quarter of the window at most, so that reading and delivery go
        on beside each other, and a read that has begun always fits."""
        return max(1, min(self.batch_max_events, self.window_max_events // 4))

    @property
    def read_max_bytes(self) -> int:
        return max(1, min(self.batch_max_bytes, self.window_max_bytes // 4))

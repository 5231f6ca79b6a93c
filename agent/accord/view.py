"""What the status shows of the journal's reader."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AccordView:
    error: str = ""
    """Why the journal cannot be read; empty while it can."""
    blocked: str = ""
    """What the next transaction lacks; empty when it lacks nothing."""
    blocked_s: float = 0.0
    waiting: int = 0
    """Transactions whose application is not in the journal yet."""
    oldest_s: float = 0.0
    """Age of the oldest one in seconds."""

"""The time for which snapshots have been running and paused since the start."""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class SnapshotClock:
    """Seconds; `paused_s` is part of `running_s`. `seen_at_s` is the time of the last update."""

    running_s: float = 0.0
    paused_s: float = 0.0
    seen_at_s: float | None = None
    was_running: bool = False
    was_paused: bool = False

    def seen(self, now_s: float, *, is_running: bool, is_paused: bool) -> "SnapshotClock":
        """The state of the last update lasted until now."""
        passed_s = 0.0 if self.seen_at_s is None else now_s - self.seen_at_s
        return replace(
            self,
            running_s=self.running_s + (passed_s if self.was_running else 0.0),
            paused_s=self.paused_s + (passed_s if self.was_running and self.was_paused else 0.0),
            seen_at_s=now_s,
            was_running=is_running,
            was_paused=is_paused,
        )

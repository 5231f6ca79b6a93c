"""Heartbeats: messages that show that the agent is alive while nothing changes.

Positions advance without them: empty replies carry resume tokens too.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from sidecar.events import Message

_AGAIN_S = 1.0


@dataclass(frozen=True, slots=True)
class HeartbeatSettings:
    """The agent sends a message to `topic` every `interval_ms`; 0: never. `encode` makes key and
    value from a time in milliseconds; it returns None while their schemas have no ids."""

    interval_ms: int = 0
    topic: str = ""
    encode: Callable[[int], tuple[bytes, bytes] | None] = lambda ts_ms: None


class Heartbeat:
    """For one thread."""

    def __init__(self, settings: HeartbeatSettings) -> None:
        self._settings = settings
        self._next_s: dict[str, float] = {}

    @property
    def due_in_s(self) -> float | None:
        """When the next heartbeat is due; None without heartbeats."""
        if not self._next_s:
            return None
        return max(0.0, min(self._next_s.values()) - time.monotonic())

    def due(self, stream: str) -> Message | None:
        """The heartbeat that is due for a stream, once."""
        settings = self._settings
        if not settings.interval_ms:
            return None
        now_s = time.monotonic()
        interval_s = settings.interval_ms / 1000
        if now_s < self._next_s.setdefault(stream, now_s + interval_s):
            return None
        now_ms = int(time.time() * 1000)
        encoded = settings.encode(now_ms)
        if encoded is None:
            self._next_s[stream] = now_s + _AGAIN_S
            return None
        self._next_s[stream] = now_s + interval_s
        headers = [("cdc.kind", b"heartbeat"), ("cdc.ts_us", str(now_ms * 1000).encode())]
        return (settings.topic, *encoded, headers, 0)

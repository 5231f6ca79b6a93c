"""Tracks whether a Kafka broker answers.

librdkafka does not always report the loss of the last broker, and never reports a broker's return
while nothing is sent. After a connection error, or silence while events wait, the sink probes the
brokers, at most once a second.
"""

from collections.abc import Callable

from sidecar.quantities import duration_text

_SUSPICIOUS_SILENCE_S = 2.0
_LONG_SILENCE_S = 15.0
_PROBE_PAUSE_S = 1.0
_NO_ANSWER = "it does not answer"


class BrokerLiveness:
    """The state of the connection, and when to probe. `clock` returns seconds."""

    def __init__(self, servers: str, clock: Callable[[], float]) -> None:
        self._servers = servers
        self._clock = clock
        self.reason = "no connection yet"
        """The client's text about the latest failed connection."""
        self._is_suspect = True
        self._unavailable_since_s: float | None = None
        self._waiting_since_s: float | None = None
        self._probe_at_s = clock()

    def is_unavailable(self) -> bool:
        return self._unavailable_since_s is not None

    def is_probe_due(self) -> bool:
        is_open = (
            self._is_suspect or self.is_unavailable() or self._silence_s() > _SUSPICIOUS_SILENCE_S
        )
        return is_open and self._clock() >= self._probe_at_s

    def connection_failed(self, reason: str) -> None:
        self.reason = reason
        self._is_suspect = True

    def events_sent(self) -> None:
        if self._waiting_since_s is None:
            self._waiting_since_s = self._clock()

    def acknowledged(self, waiting: int) -> None:
        """Record acknowledgements; `waiting` events are still unacknowledged."""
        self._answered()
        self._waiting_since_s = self._clock() if waiting else None

    def events_aborted(self) -> None:
        """Record that no event awaits acknowledgement; the broker may be up or down."""
        self._waiting_since_s = None

    def probed(self, is_settled: bool) -> None:
        now_s = self._clock()
        self._probe_at_s = now_s + _PROBE_PAUSE_S
        if is_settled:
            self._answered()
        elif self._unavailable_since_s is None:
            self._unavailable_since_s = now_s

    def error(self) -> str | None:
        """Return why nothing is delivered, or None while the broker answers."""
        if self._unavailable_since_s is not None:
            away_s = self._clock() - self._unavailable_since_s
            if away_s < 1:
                return f"no Kafka broker of {self._servers} answers"
            return f"no Kafka broker of {self._servers} has answered for {duration_text(away_s)}"
        if self._silence_s() > _LONG_SILENCE_S:
            return (
                f"Kafka at {self._servers} has acknowledged nothing for "
                f"{duration_text(self._silence_s())}; are enough replicas in sync?"
            )
        return None

    def _answered(self) -> None:
        self._unavailable_since_s = None
        self._is_suspect = False
        self.reason = _NO_ANSWER

    def _silence_s(self) -> float:
        return 0.0 if self._waiting_since_s is None else self._clock() - self._waiting_since_s

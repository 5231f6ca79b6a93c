"""Whether a broker answers, as far as a client can know.

librdkafka does not always say that the last broker is gone, and never that one is back while there
is nothing to send. So a doubt (an error of a connection, or silence while events wait) is settled
by asking for the brokers, at most once a second.
"""

from collections.abc import Callable

_DOUBTFUL_SILENCE_S = 2.0
_LONG_SILENCE_S = 15.0
_PROBE_PAUSE_S = 1.0
_NO_ANSWER = "it does not answer"


class BrokerLiveness:
    """Counts from `clock`, which gives seconds. Decides nothing but when to ask."""

    def __init__(self, servers: str, clock: Callable[[], float]) -> None:
        self._servers = servers
        self._clock = clock
        self._reason = "no connection yet"
        self._is_doubtful = True
        self._unavailable_since_s: float | None = None
        self._waiting_since_s: float | None = None
        self._probe_at_s = clock()

    def is_unavailable(self) -> bool:
        return self._unavailable_since_s is not None

    def is_probe_due(self) -> bool:
        is_open = (
            self._is_doubtful or self.is_unavailable() or self._silence_s() > _DOUBTFUL_SILENCE_S
        )
        return is_open and self._clock() >= self._probe_at_s

    def connection_failed(self, reason: str) -> None:
        """A connection could not be made, or is lost."""
        self._reason = reason
        self._is_doubtful = True

    def events_sent(self) -> None:
        """Events wait for their acknowledgement."""
        if self._waiting_since_s is None:
            self._waiting_since_s = self._clock()

    def acknowledged(self, waiting: int) -> None:
        """Some events are acknowledged, others still wait."""
        self._answered()
        self._waiting_since_s = self._clock() if waiting else None

    def events_aborted(self) -> None:
        """No event waits for its acknowledgement any more; that says nothing of the broker."""
        self._waiting_since_s = None

    def probed(self, is_settled: bool) -> None:
        """A broker was asked for and answered, or did not."""
        now_s = self._clock()
        self._probe_at_s = now_s + _PROBE_PAUSE_S
        if is_settled:
            self._answered()
        elif self._unavailable_since_s is None:
            self._unavailable_since_s = now_s

    def error(self) -> str | None:
        """What is wrong, in words for a person."""
        if self._unavailable_since_s is not None:
            away_s = self._clock() - self._unavailable_since_s
            return f"no Kafka broker of {self._servers} answers for {away_s:.0f} s: {self._reason}"
        if self._silence_s() > _LONG_SILENCE_S:
            return (
                f"Kafka at {self._servers} has acknowledged nothing for {self._silence_s():.0f} s; "
                "are enough replicas in sync?"
            )
        return None

    def _answered(self) -> None:
        self._unavailable_since_s = None
        self._is_doubtful = False
        self._reason = _NO_ANSWER

    def _silence_s(self) -> float:
        return 0.0 if self._waiting_since_s is None else self._clock() - self._waiting_since_s

"""Types, clocks and reports for tests of Kafka's sinks."""

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from sidecar.sinks.kafka.sink import KafkaSink
from sidecar.sinks.kafka.transactions.contents import CommitRule
from sidecar.sinks.kafka.transactions.sink import TransactionalKafkaSink
from tests.support.agents.exactly_once import ExactDelivery

SinkFactory = Callable[..., KafkaSink]
MakeSink = Callable[..., TransactionalKafkaSink]
MakeDelivery = Callable[..., ExactDelivery]
QUICK = CommitRule(interval_s=0.02, position_interval_s=0.02)


def delivery_report(
    topic: str, key: bytes | None, value: bytes | None, offset: int | None = 0
) -> Any:
    """What the client reports of a message; without an offset it is not confirmed."""
    named = {"topic": topic, "key": key, "value": value, "offset": offset}
    return SimpleNamespace(**{name: lambda value=value: value for name, value in named.items()})


class LaterClock:
    """The time of the process, and `ahead_s` seconds more."""

    def __init__(self) -> None:
        self.ahead_s = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self.ahead_s

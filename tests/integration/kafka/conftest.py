"""A real broker for the tests of the sink, and sinks that are closed after them."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sidecar.offsets.position_store import PositionRecords
from sidecar.sinks.kafka.sink import KafkaSink
from sidecar.sinks.kafka.topics.metadata import TopicCreation
from sidecar.sinks.kafka.transactions.commit_rule import CommitRule
from sidecar.sinks.kafka.transactions.sink import TransactionalKafkaSink
from tests.support.servers.kafka import KafkaBroker
from tests.support.sinks.kafka_sinks import QUICK, MakeSink, SinkFactory


@pytest.fixture(scope="package")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """Shared; each test has topics of its own."""
    with KafkaBroker(tmp_path_factory.mktemp("kafka"), heap_mib=256) as broker:
        yield broker


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[KafkaBroker]:
    """Not started; for a test that stops and starts it."""
    broker = KafkaBroker(tmp_path / "kafka", heap_mib=256)
    yield broker
    if broker.is_running:
        broker.kill()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sinks that open without waiting for a broker that is not there."""
    monkeypatch.setattr("sidecar.sinks.kafka.client._FIRST_ANSWER_S", 0.1)


@pytest.fixture
def make_sink() -> Iterator[SinkFactory]:
    """Opened sinks; settings have `_` for the dots."""
    sinks: list[KafkaSink] = []

    def make(
        bootstrap: str,
        creation: TopicCreation | None = None,
        clock: Callable[[], float] = time.monotonic,
        waits_when_denied: bool = True,
        **settings: str,
    ) -> KafkaSink:
        named = {name.replace("_", "."): value for name, value in settings.items()}
        sink = KafkaSink(
            {"bootstrap.servers": bootstrap} | named,
            creation,
            waits_when_denied=waits_when_denied,
            clock=clock,
        )
        sinks.append(sink)
        sink.open()
        return sink

    yield make
    for sink in sinks:
        sink.close(0)


@pytest.fixture
def make_exact() -> Iterator[MakeSink]:
    """Opened sinks; settings have `_` for the dots."""
    sinks: list[TransactionalKafkaSink] = []

    def make(
        bootstrap: str,
        where: PositionRecords,
        rule: CommitRule = QUICK,
        creation: TopicCreation | None = None,
        clock: Callable[[], float] = time.monotonic,
        **settings: str,
    ) -> TransactionalKafkaSink:
        named = {name.replace("_", "."): value for name, value in settings.items()}
        sink = TransactionalKafkaSink(
            {"bootstrap.servers": bootstrap} | named, where, rule, creation, clock=clock
        )
        sinks.append(sink)
        sink.open()
        return sink

    yield make
    for sink in sinks:
        sink.close(0)

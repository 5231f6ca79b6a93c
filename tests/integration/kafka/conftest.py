"""Brokers for the sink tests, and sinks that are closed after each test."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, TypeVar

import pytest

from sidecar.offsets.position_store import PositionRecords
from sidecar.sinks.kafka.client import ClientOptions
from sidecar.sinks.kafka.sink import KafkaSink
from sidecar.sinks.kafka.topics.metadata import TopicCreation
from sidecar.sinks.kafka.transactions.contents import CommitRule
from sidecar.sinks.kafka.transactions.sink import TransactionalKafkaSink
from tests.support.agents.exactly_once import ExactDelivery, Mutation, Source, with_positions
from tests.support.servers.kafka import KafkaBroker
from tests.support.servers.kafka_acl import SecuredBroker
from tests.support.sinks.kafka_sinks import QUICK, MakeDelivery, MakeSink, SinkFactory


@pytest.fixture(scope="package")
def secured_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    """In addition to the shared broker, which requires no login; each test uses its own names."""
    with SecuredBroker(tmp_path_factory.mktemp("secured") / "kafka") as broker:
        yield broker


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sinks that open without waiting for an unavailable broker."""
    monkeypatch.setattr("sidecar.sinks.kafka.client._FIRST_ANSWER_S", 0.1)


AnySink = TypeVar("AnySink", KafkaSink, TransactionalKafkaSink)


def _client(bootstrap: str, settings: dict[str, str]) -> dict[str, str]:
    """Setting names contain `_` instead of dots."""
    named = {name.replace("_", "."): value for name, value in settings.items()}
    return {"bootstrap.servers": bootstrap} | named


@pytest.fixture
def opened() -> Iterator[Callable[[AnySink], AnySink]]:
    """Open sinks, and close them after the test."""
    with ExitStack() as stack:

        def open_sink(sink: AnySink) -> AnySink:
            stack.callback(sink.close, 0)
            sink.open()
            return sink

        yield open_sink


@pytest.fixture
def make_sink(opened: Callable[[KafkaSink], KafkaSink]) -> SinkFactory:
    def make(
        bootstrap: str,
        creation: TopicCreation | None = None,
        clock: Callable[[], float] = time.monotonic,
        waits_when_denied: bool = True,
        **settings: str,
    ) -> KafkaSink:
        options = ClientOptions(_client(bootstrap, settings), creation, waits_when_denied)
        return opened(KafkaSink(options, clock=clock))

    return make


@pytest.fixture
def make_exact(opened: Callable[[TransactionalKafkaSink], TransactionalKafkaSink]) -> MakeSink:
    def make(
        bootstrap: str,
        where: PositionRecords,
        rule: CommitRule = QUICK,
        creation: TopicCreation | None = None,
        clock: Callable[[], float] = time.monotonic,
        **settings: str,
    ) -> TransactionalKafkaSink:
        options = ClientOptions(_client(bootstrap, settings), creation)
        return opened(TransactionalKafkaSink(options, where, rule, clock=clock))

    return make


@pytest.fixture
def exactly(broker: KafkaBroker, make_exact: MakeSink) -> MakeDelivery:
    """Transactional deliveries to a topic that this function creates, with a topic for
    positions."""

    def make(
        topic: str,
        mutations: Sequence[Mutation],
        config: Mapping[str, str] | None = None,
        *,
        bootstrap: str = broker.bootstrap,
        stores_rejected: Callable[[], bool] = lambda: True,
        **of_sink: Any,
    ) -> ExactDelivery:
        where = with_positions(broker, topic, config)
        sink = make_exact(bootstrap, where, **of_sink)
        return ExactDelivery(sink, Source(mutations), stores_rejected=stores_rejected)

    return make

"""Two Kafka clusters, and an agent with topics on both."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.acceptance.faults.broker_harness import BrokerHarness, create_topics
from tests.support.servers.kafka import KafkaBroker


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[KafkaBroker, KafkaBroker]]:
    folder = tmp_path_factory.mktemp("brokers")
    with ExitStack() as stack:
        old, new = (
            stack.enter_context(KafkaBroker(folder / name, heap_mib=256)) for name in ("old", "new")
        )
        yield old, new


@pytest.fixture
def empty(brokers: tuple[KafkaBroker, KafkaBroker], tmp_path: Path) -> Iterator[BrokerHarness]:
    """A harness, and its topics on both clusters; they are removed after the test."""
    harness = BrokerHarness(tmp_path / "harness")
    for broker in brokers:
        create_topics(broker, harness)
    yield harness
    for broker in brokers:
        topics = list(harness.topics)
        for future in broker.admin().delete_topics(topics, operation_timeout=60).values():
            future.result(60)

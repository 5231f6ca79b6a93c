"""A Kafka broker for the tests of a file, whose topics have names of their own."""

from collections.abc import Iterator

import pytest

from tests.support.servers.kafka import KafkaBroker


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """One for each file, whose tests name their topics as they like."""
    with KafkaBroker(tmp_path_factory.mktemp("kafka")) as started:
        yield started

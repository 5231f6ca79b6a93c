"""A Kafka broker for the tests of a module, which use different topics."""

from collections.abc import Iterator

import pytest

from tests.support.servers.kafka import KafkaBroker


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """One broker for each module."""
    with KafkaBroker(tmp_path_factory.mktemp("kafka")) as started:
        yield started

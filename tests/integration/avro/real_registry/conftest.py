"""One registry for all tests. Each has topics of its own, as BACKWARD holds for a subject."""

from collections.abc import Iterator

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient

from tests.support.servers.apicurio import ApicurioRegistry

ANSWER_S = 60.0


@pytest.fixture
def confluent(registry: ApicurioRegistry) -> Iterator[SchemaRegistryClient]:
    """Confluent's own client of it."""
    # Without a timeout it would wait without end.
    with SchemaRegistryClient({"url": registry.url, "timeout": ANSWER_S}) as client:
        yield client


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApicurioRegistry]:
    with ApicurioRegistry(tmp_path_factory.mktemp("apicurio")) as started:
        yield started

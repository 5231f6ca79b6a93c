"""One Spark session for the whole suite: starting one costs as much as many tests."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.harness.kafka import KafkaBroker
from tests.spark.session import fetched_jars, local_session, quiet_java_options


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test that takes the session carries the marker `spark`."""
    for item in items:
        if isinstance(item, pytest.Function) and "spark" in item.fixturenames:
            item.add_marker("spark")


@pytest.fixture(scope="session")
def jars_directory() -> Path:
    return fetched_jars()


@pytest.fixture(scope="session")
def java_options(tmp_path_factory: pytest.TempPathFactory) -> str:
    return quiet_java_options(tmp_path_factory.mktemp("spark"))


@pytest.fixture(scope="session")
def spark(
    jars_directory: Path, java_options: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SparkSession]:
    session = local_session(jars_directory, java_options, tmp_path_factory.mktemp("warehouse"))
    yield session
    session.stop()


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """One for each file, whose tests name their topics as they like."""
    with KafkaBroker(tmp_path_factory.mktemp("kafka")) as started:
        yield started


@pytest.fixture
def root_logger() -> Iterator[None]:
    """A command configures the log of its process; here that is the one of all tests."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)

"""Settings of all tests."""

import gc
import os

from hypothesis import HealthCheck, settings

# No time limits: the machine may be busy. A failure prints what reproduces it.
settings.register_profile(
    "cdc",
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("few", settings.get_profile("cdc"), max_examples=10)
settings.register_profile("fixed", settings.get_profile("cdc"), derandomize=True, database=None)
settings.load_profile("cdc")

pytest_plugins = (
    "tests.support.fixtures.agent_directory",
    "tests.support.fixtures.broker",
    "tests.support.fixtures.groups",
    "tests.support.fixtures.node",
    "tests.support.fixtures.reachable_folder",
    "tests.support.fixtures.spark",
)


def pytest_configure() -> None:
    """Ten thousand tests are collected a third sooner without a search for garbage."""
    gc.disable()


def pytest_collection_finish() -> None:
    """The collected tests are no garbage: later searches leave them out."""
    gc.freeze()
    gc.enable()


def pytest_report_header() -> str:
    """The order of documents that the MongoDB server of the tests finds without a sort."""
    return f"MONGODB_ORDER_SEED={os.environ.get('MONGODB_ORDER_SEED', '1')}"

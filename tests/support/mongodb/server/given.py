"""A real MongoDB for the tests, where `MONGODB_URI` is the connection string of one that runs.

The databases `shop`, `other`, `größe` and `peer` of it are dropped.
"""

import os
from typing import Any

import pytest
from pymongo import MongoClient

DATABASES = ("shop", "other", "größe", "peer")
NEEDS_FAULTS = "needs faults of the tests' own replica set, and MONGODB_URI names another"


def given_server() -> str | None:
    """The connection string of a real replica set or router."""
    return os.environ.get("MONGODB_URI") or None


def needs_own_server() -> None:
    """Skip a test that makes a server of its own, where another one is to be tested."""
    if given_server():
        pytest.skip(NEEDS_FAULTS)


def needs_release(client: MongoClient[dict[str, Any]], *release: int) -> None:
    """Skip a test that a given server is too old for."""
    version = client.admin.command("buildInfo")["versionArray"]
    if tuple(version) < release:
        pytest.skip(f"needs MongoDB {'.'.join(map(str, release))}, and an older one is given")


def drop_databases(target: str) -> None:
    """Take away what tests before have left."""
    with MongoClient[dict[str, Any]](target) as client:
        for database in DATABASES:
            client.drop_database(database)

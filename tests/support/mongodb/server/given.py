"""A real MongoDB for the tests, where one is given: `MONGODB_URI` is the connection string of one
that runs, `MONGOD` a program to start.

The databases `shop`, `other`, `größe` and `peer` of it are dropped.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient
from pymongo.errors import OperationFailure, PyMongoError

from tests.support.servers.processes import ServerProcess, free_port, wait_until

DATABASES = ("shop", "other", "größe", "peer")
NEEDS_FAULTS = "needs faults of the tests' own replica set, and MONGODB_URI or MONGOD names another"
_ALREADY_INITIALIZED = 23


@contextmanager
def given_server(directory: Path) -> Iterator[str | None]:
    """The connection string of a real replica set or router, None where none is given. What is
    started is stopped; its files are in `directory`."""
    program = os.environ.get("MONGOD")
    if os.environ.get("MONGODB_URI"):
        yield os.environ["MONGODB_URI"]
    elif program:
        with _started(program, directory) as target:
            yield target
    else:
        yield None


def needs_own_server() -> None:
    """Skip a test that makes a server of its own, where another one is to be tested."""
    if os.environ.get("MONGODB_URI") or os.environ.get("MONGOD"):
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


@contextmanager
def _started(program: str, directory: Path) -> Iterator[str]:
    """A replica set of one member."""
    port = free_port()
    (directory / "data").mkdir(parents=True)
    command = [program, "--replSet", "rs0", "--bind_ip", "127.0.0.1", "--port", str(port)]
    command += ["--dbpath", str(directory / "data")]
    process = ServerProcess("mongod", command, directory / "mongod.log")
    process.start()
    try:
        alone = f"mongodb://127.0.0.1:{port}/?directConnection=true&serverSelectionTimeoutMS=1000"
        with MongoClient[dict[str, Any]](alone) as client:
            wait_until(lambda: _says(client, "ok"), "an answer of mongod", process=process)
            member = {"_id": 0, "host": f"127.0.0.1:{port}"}
            try:
                client.admin.command("replSetInitiate", {"_id": "rs0", "members": [member]})
            except OperationFailure as error:
                if error.code != _ALREADY_INITIALIZED:
                    raise
            wait_until(lambda: _says(client, "isWritablePrimary"), "a primary", process=process)
        yield f"mongodb://127.0.0.1:{port}/?replicaSet=rs0"
    finally:
        process.terminate()


def _says(client: MongoClient[dict[str, Any]], name: str) -> bool:
    try:
        return bool(client.admin.command("hello")[name])
    except PyMongoError:
        return False

"""The replica set of the tests as a process that can be killed."""

import sys
from pathlib import Path
from typing import Any, Self

from bson import Timestamp
from pymongo import MongoClient
from pymongo.errors import PyMongoError

from tests.support.servers.processes import ServerProcess, free_port, wait_until

_REPOSITORY = Path(__file__).parents[4]
_NAME = "rs0"


class MongoServerProcess:
    """All members in one process; its data outlive a kill. Leaving the block kills it."""

    def __init__(self, directory: Path, members: int = 3) -> None:
        ports = [free_port() for _ in range(members)]
        hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
        self.connection_string = f"mongodb://{hosts}/?replicaSet={_NAME}"
        command = [sys.executable, "-m", "tests.support.mongodb.server"]
        command += ["--journal", str(directory / "journal")]
        command += [part for port in ports for part in ("--port", str(port))]
        self._directory = directory
        self._process = ServerProcess(
            "the MongoDB server of the tests",
            command,
            directory / "server.log",
            directory=_REPOSITORY,
        )

    def __enter__(self) -> Self:
        self._directory.mkdir(parents=True)
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._process.is_running:
            self._process.kill()

    def start(self) -> None:
        """Starts it and waits for its primary."""
        self._process.start()
        with self._client() as client:
            wait_until(lambda: _has_primary(client), "a primary", process=self._process)

    def kill(self) -> None:
        """SIGKILL."""
        self._process.kill()

    def step_down(self) -> None:
        """The primary steps down; another member is elected."""
        with self._client() as client:
            client.admin.command("replSetStepDown", 60, force=True)

    def write_noop(self) -> Timestamp:
        """Move the cluster time by an entry without changes."""
        with self._client() as client:
            reply = client.admin.command("appendOplogNote", 1, data={"by": "a test"})
            time: Timestamp = reply["operationTime"]
            return time

    def _client(self) -> MongoClient[dict[str, Any]]:
        return MongoClient(self.connection_string, serverSelectionTimeoutMS=60_000)


def _has_primary(client: MongoClient[dict[str, Any]]) -> bool:
    try:
        return bool(client.admin.command("hello")["isWritablePrimary"])
    except PyMongoError:
        return False

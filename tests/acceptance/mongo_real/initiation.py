"""Makes members that have started a replica set.

python -m tests.acceptance.mongo_real.initiation SET PORT…
"""

import sys
from collections.abc import Sequence
from typing import Any

from pymongo import MongoClient
from pymongo.errors import OperationFailure, PyMongoError

from tests.support.mongodb.server.client import Client
from tests.support.servers.processes import ServerProcess, wait_until

_START_DEADLINE_S = 180
_ALREADY_INITIALIZED = 23


def direct(address: str) -> Client:
    """Client of one member, whatever its state."""
    return MongoClient(f"mongodb://{address}/?directConnection=true&serverSelectionTimeoutMS=1000")


def says(address: str, name: str) -> Any:
    """Field of the answer to `hello`; None without an answer."""
    try:
        with direct(address) as client:
            return client.admin.command("hello").get(name)
    except PyMongoError:
        return None


def wait_for(address: str, name: str, process: ServerProcess | None = None) -> None:
    """Wait until a field of `hello` is true."""
    wait_until(
        lambda: bool(says(address, name)),
        f"{name} of {address}",
        deadline_s=_START_DEADLINE_S,
        process=process,
    )


def primary_of(addresses: Sequence[str]) -> str | None:
    return next((each for each in addresses if says(each, "isWritablePrimary")), None)


def wait_for_primary(addresses: Sequence[str]) -> None:
    """Wait until one member accepts writes and the others follow."""

    def is_whole() -> bool:
        roles = [says(each, "isWritablePrimary") or says(each, "secondary") for each in addresses]
        return all(roles) and primary_of(addresses) is not None

    wait_until(is_whole, f"a primary of {addresses}", deadline_s=_START_DEADLINE_S)


def initiate(name: str, addresses: Sequence[str], *, is_config_server: bool = False) -> None:
    """Make the members a set and wait for its primary; no effect on an existing set."""
    config: dict[str, Any] = {
        "_id": name,
        "members": [{"_id": number, "host": each} for number, each in enumerate(addresses)],
        "settings": {"electionTimeoutMillis": 2000},
    }
    if is_config_server:
        config["configsvr"] = True
    with direct(addresses[0]) as client:
        try:
            client.admin.command("replSetInitiate", config)
        except OperationFailure as error:
            if error.code != _ALREADY_INITIALIZED:
                raise
    wait_for_primary(addresses)


def main() -> None:
    name, *ports = sys.argv[1:]
    addresses = [f"127.0.0.1:{port}" for port in ports]
    for address in addresses:
        wait_for(address, "ok")
    initiate(name, addresses)


if __name__ == "__main__":
    main()

"""The type of pymongo's client in tests, and a write that an election cannot stop."""

from collections.abc import Callable
from typing import Any

from pymongo import MongoClient
from pymongo.errors import DuplicateKeyError, PyMongoError

from tests.support.servers.processes import wait_until

Client = MongoClient[dict[str, Any]]


def write_through_election(write: Callable[[], object], what: str) -> None:
    """Repeats a write until it succeeded.

    A driver repeats a write once at most, and may then still know the primary of before.
    """

    def is_written() -> bool:
        try:
            write()
        except DuplicateKeyError:
            return True
        except PyMongoError:
            return False
        return True

    wait_until(is_written, what)

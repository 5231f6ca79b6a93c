"""The position of a follower in a version store."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """The rows that a version of the store shows at a second.

    `store_version` is a version of the store's Delta table, `second` is in seconds since 1970.
    """

    store_version: int
    second: int

    def __str__(self) -> str:
        return f"version {self.store_version} at second {self.second}"

"""Cluster times: BSON timestamps of the oplog."""

from dataclasses import dataclass

from bson import Timestamp

_LAST_INCREMENT = 2**32 - 1


@dataclass(frozen=True, slots=True, order=True)
class ClusterTime:
    """An oplog time: seconds, and the number of the entry in that second."""

    second: int
    increment: int

    @property
    def before(self) -> "ClusterTime":
        """The preceding time."""
        if self.increment > 0:
            return ClusterTime(self.second, self.increment - 1)
        return ClusterTime(max(0, self.second - 1), _LAST_INCREMENT)

    @property
    def after(self) -> "ClusterTime":
        """The following time."""
        if self.increment < _LAST_INCREMENT:
            return ClusterTime(self.second, self.increment + 1)
        return ClusterTime(self.second + 1, 0)

    @property
    def timestamp(self) -> Timestamp:
        """The BSON value."""
        return Timestamp(self.second, self.increment)

    def __str__(self) -> str:
        return f"{self.second}:{self.increment}"


NEVER = ClusterTime(0, 0)
"""A time before all entries of an oplog."""

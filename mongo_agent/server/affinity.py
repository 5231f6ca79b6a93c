"""Server affinity: all commands of a stream go to one server.

A cursor exists on one server, and a driver selects a server for each command: another mongos, or
another secondary. The commands of a stream therefore use the server of its first command while that
server is eligible. When its role changes, the stream is reopened on another server.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pymongo.server_description import ServerDescription

_active = threading.local()


class ServerAffinity:
    """Wrap each command in `with affinity.active():`."""

    def __init__(self) -> None:
        self._address: tuple[str, int | None] | None = None

    @contextmanager
    def active(self) -> Iterator[None]:
        """Send the commands of this thread inside the block to one server."""
        _active.affinity = self
        try:
            yield
        finally:
            _active.affinity = None

    def choose(self, eligible: Sequence[ServerDescription]) -> Sequence[ServerDescription]:
        """The server of the previous command if it is eligible, else the nearest one."""
        chosen = [each for each in eligible if each.address == self._address]
        if not chosen:
            chosen = sorted(eligible, key=_distance)[:1]
        if chosen:
            self._address = chosen[0].address
        return chosen


def select_server(eligible: Sequence[ServerDescription]) -> Sequence[ServerDescription]:
    """The `server_selector` of a client; without an active affinity the driver selects."""
    affinity: ServerAffinity | None = getattr(_active, "affinity", None)
    return eligible if affinity is None else affinity.choose(eligible)


def _distance(server: ServerDescription) -> float:
    return server.round_trip_time or 0.0

"""Which server a stream is read from.

A cursor lives in one server, and a driver chooses one for each command: another mongos, another
secondary. So all commands of a stream go to the server that its first one went to, as long as that
may be chosen: a member whose role does not fit any more is left, and the stream is opened again.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pymongo.server_description import ServerDescription

_pinned = threading.local()


class ServerAffinity:
    """`with pin.held():` around each command."""

    def __init__(self) -> None:
        self._address: tuple[str, int | None] | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """What this thread asks inside of the block goes to one server."""
        _pinned.pin = self
        try:
            yield
        finally:
            _pinned.pin = None

    def choose(self, suitable: Sequence[ServerDescription]) -> Sequence[ServerDescription]:
        """Of servers that may be asked, the one that was asked before, else the nearest one."""
        kept = [each for each in suitable if each.address == self._address]
        if not kept:
            kept = sorted(suitable, key=_distance)[:1]
        if kept:
            self._address = kept[0].address
        return kept


def select_server(suitable: Sequence[ServerDescription]) -> Sequence[ServerDescription]:
    """The `server_selector` of a client: outside of a pin the driver's choice stays."""
    pin: ServerAffinity | None = getattr(_pinned, "pin", None)
    return suitable if pin is None else pin.choose(suitable)


def _distance(server: ServerDescription) -> float:
    return server.round_trip_time or 0.0

"""Server commands: undecodable replies, sessions, and affinity to one server.

A cursor exists on one server, but the driver selects a server for each command: perhaps a different
mongos or secondary. The commands of a stream therefore use the server of its first command while
that server is eligible. When its role changes, the stream is reopened on another server.
"""

import threading
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from bson import CodecOptions
from bson.raw_bson import RawBSONDocument
from pymongo import MongoClient
from pymongo.client_session import ClientSession
from pymongo.errors import ProtocolError, PyMongoError
from pymongo.server_description import ServerDescription

from mongo_agent.documents import ClusterTime
from sidecar.errors import SidecarError

Client = MongoClient[Any]
RAW: CodecOptions[RawBSONDocument] = CodecOptions(document_class=RawBSONDocument)
"""Options that keep documents as bytes."""


@contextmanager
def decode_replies() -> Iterator[None]:
    """Raise `ProtocolError`, a `PyMongoError`, for a reply that cannot be decoded, or whose members
    are missing or have other types than the code inside the block expects.

    For such a reply the driver closes the connection, but does not convert the errors of its
    decoders (BSON, zlib, zstd, Snappy, `struct`).
    """
    try:
        yield
    except SidecarError:
        raise
    except Exception as error:
        _release_replies(error)
        if isinstance(error, PyMongoError):
            raise
        kind = type(error).__name__
        raise ProtocolError(f"a reply cannot be decoded ({kind}: {error})") from error


def run_command(
    client: Client, command: str | dict[str, Any], database: str = "admin", **options: Any
) -> Any:
    """Run a command on a server that the read preference selects. Raises `PyMongoError`."""
    with decode_replies():
        return client[database].command(command, read_preference=client.read_preference, **options)


def checked_time(reached: Any, gossiped: Any) -> ClusterTime | None:
    """Convert an `operationTime`; `gossiped` is the `$clusterTime` of the reply, or None.

    Raises `ProtocolError` for a time after the cluster time, which no server has reached. An agent
    that waits for that time would skip all changes until then.
    """
    if reached is None:
        return None
    if gossiped is not None and reached > gossiped["clusterTime"]:
        latest = gossiped["clusterTime"]
        raise ProtocolError(f"the operation time {reached} is after the cluster time {latest}")
    return ClusterTime(reached.time, reached.inc)


def operation_time(reply: Mapping[str, Any]) -> ClusterTime | None:
    """Return the `operationTime` of a reply, or None. Raises the errors of `checked_time`."""
    return checked_time(reply.get("operationTime"), reply.get("$clusterTime"))


def _release_replies(error: BaseException | None) -> None:
    """Clear the frames of an error. A driver frame refers to its own error. It would keep a reply
    of up to 48 MB alive until the next garbage collection, which is rare (`tune_interpreter`)."""
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__context__


def new_session(client: Client) -> ClientSession | None:
    """Start a session; return None on a direct connection to a hidden member.

    The driver does not start sessions there, because it does not select hidden members for reads.
    """
    topology = client.topology_description
    kinds = {each.server_type_name for each in topology.server_descriptions().values()}
    if topology.topology_type_name == "Single" and kinds == {"RSOther"}:
        return None
    return client.start_session(causal_consistency=False)


_active = threading.local()


class ServerAffinity:
    """Sends commands to one server. Wrap each command in `with affinity.active():`."""

    def __init__(self) -> None:
        self._address: tuple[str, int | None] | None = None

    @contextmanager
    def active(self) -> Iterator[None]:
        """Send this thread's commands inside the block to one server."""
        _active.affinity = self
        try:
            yield
        finally:
            _active.affinity = None

    def choose(self, eligible: Sequence[ServerDescription]) -> Sequence[ServerDescription]:
        """Choose the server of the previous command if it is eligible, else the nearest server."""
        chosen = [each for each in eligible if each.address == self._address]
        if not chosen:
            chosen = sorted(eligible, key=lambda each: each.round_trip_time or 0.0)[:1]
        if chosen:
            self._address = chosen[0].address
        return chosen


def select_server(eligible: Sequence[ServerDescription]) -> Sequence[ServerDescription]:
    """The `server_selector` of a client; without an active affinity the driver selects."""
    affinity: ServerAffinity | None = getattr(_active, "affinity", None)
    return eligible if affinity is None else affinity.choose(eligible)

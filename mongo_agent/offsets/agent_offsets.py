"""The offsets of an agent, as a frozen value and as entries of a store.

token={"_data": "8265C0…"}            the stream of the whole deployment
cluster.time=1707147246:3
…
shop.orders/token={"_data": "8265…"}  the stream of one collection
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from mongo_agent.change_stream.position import CLUSTER, StreamPosition, parse_position
from mongo_agent.encoder import MongoTransaction
from mongo_agent.snapshot.progress import SnapshotProgress
from sidecar.errors import OffsetStoreError

_TRANSACTION, _SNAPSHOT = "transaction", "copies"
_SEPARATOR = "/"


@dataclass(frozen=True, slots=True)
class StreamOffset:
    """The offset of one stream: everything before it is delivered."""

    stream: StreamPosition
    transaction: MongoTransaction | None
    snapshot: SnapshotProgress

    def values(self) -> dict[str, str]:
        values = self.stream.values()
        if self.transaction is not None:
            values[_TRANSACTION] = self.transaction.to_json()
        values[_SNAPSHOT] = self.snapshot.to_json()
        return values


@dataclass(frozen=True, slots=True)
class AgentOffsets:
    streams: Mapping[str, StreamOffset] = field(default_factory=lambda: MappingProxyType({}))

    def moved(self, stream: str, position: StreamOffset) -> "AgentOffsets":
        return AgentOffsets(MappingProxyType({**self.streams, stream: position}))

    def values(self) -> dict[str, str]:
        """Format the entries of a store (`sidecar.offsets`)."""
        return {
            f"{stream}{_SEPARATOR}{name}" if stream else name: value
            for stream, position in self.streams.items()
            for name, value in position.values().items()
        }


def parse_offsets(values: Mapping[str, str], cluster: str) -> AgentOffsets:
    """Parse a store's entries. Raises `OffsetStoreError` for a wrong format or cluster."""
    by_stream: dict[str, dict[str, str]] = {}
    for full_name, value in values.items():
        stream, _, name = full_name.rpartition(_SEPARATOR)
        by_stream.setdefault(stream, {})[name] = value
    streams = {stream: _stream_offset(each, cluster) for stream, each in by_stream.items()}
    return AgentOffsets(MappingProxyType(streams))


def stored_cluster(values: Mapping[str, str]) -> str:
    """Return the cluster in a store's entries, or an empty string."""
    named = (value for name, value in values.items() if name.rpartition(_SEPARATOR)[2] == CLUSTER)
    return next(named, "")


def _stream_offset(values: Mapping[str, str], cluster: str) -> StreamOffset:
    stream = parse_position(values, cluster)
    try:
        transaction = values.get(_TRANSACTION)
        snapshot = values.get(_SNAPSHOT)
        return StreamOffset(
            stream,
            None if transaction is None else MongoTransaction.from_json(transaction),
            SnapshotProgress() if snapshot is None else SnapshotProgress.from_json(snapshot),
        )
    except ValueError as error:
        raise OffsetStoreError(
            f"The stored offset cannot be read: {error}. Restore an intact copy."
        ) from error

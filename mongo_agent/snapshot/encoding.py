"""Encoding of snapshot documents as messages, with the values of `source.snapshot`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from mongo_agent.documents import ClusterTime
from mongo_agent.encoder import MongoBatch, MongoEncoder, id_document
from mongo_agent.snapshot.progress import SnapshotProgress
from mongo_agent.snapshot.records import CollectionSnapshot, SnapshotReason

SnapshotMarker = Literal[
    "true", "first", "first_in_data_collection", "last_in_data_collection", "last", "incremental"
]


@dataclass(frozen=True, slots=True)
class ChunkPlacement:
    is_first: bool = False
    is_first_of_collection: bool = False
    is_last_of_collection: bool = False
    is_last: bool = False


def marker_ranges(
    count: int, placement: ChunkPlacement
) -> Iterator[tuple[int, int, SnapshotMarker]]:
    """Split a chunk of `count` documents into ranges of `start`, `stop` and marker."""
    if not count:
        return
    opening = _opening(placement)
    closing = _closing(placement)
    if count == 1:
        # For one document, `last` overrides `first`, and both override the markers of the
        # collection.
        own = closing if closing == "last" or opening != "first" else opening
        yield 0, 1, own if own != "true" else opening
        return
    start, stop = int(opening != "true"), count - int(closing != "true")
    if start:
        yield 0, 1, opening
    if start < stop:
        yield start, stop, "true"
    if stop < count:
        yield stop, count, closing


def _opening(placement: ChunkPlacement) -> SnapshotMarker:
    if placement.is_first:
        return "first"
    return "first_in_data_collection" if placement.is_first_of_collection else "true"


def _closing(placement: ChunkPlacement) -> SnapshotMarker:
    if placement.is_last:
        return "last"
    return "last_in_data_collection" if placement.is_last_of_collection else "true"


_UNPLACED = ChunkPlacement()


@dataclass(frozen=True, slots=True)
class RejectedDocument:
    """A raw document that cannot be encoded, and the reason. `is_malformed`: it is not BSON."""

    raw: bytes
    cause: str
    is_malformed: bool


@dataclass(frozen=True, slots=True)
class ChunkPart:
    """Documents of a chunk with one marker.

    `rest_from` is the `{_id: …}` of the first document after them; None for the last part.
    """

    batch: MongoBatch
    count: int
    rejected: tuple[RejectedDocument, ...]
    rest_from: bytes | None = None


@dataclass(frozen=True, slots=True)
class EncodedChunk:
    """Messages of a chunk or a part of it, and the progress after them.

    `rejected` documents have no message.
    """

    batch: MongoBatch
    collection: str
    progress: SnapshotProgress
    rejected: tuple[RejectedDocument, ...] = ()


def encode_chunk(
    encoder: MongoEncoder,
    snapshot: CollectionSnapshot,
    documents: Sequence[bytes],
    time: ClusterTime,
    read_at_ms: int,
    placement: ChunkPlacement = _UNPLACED,
) -> list[ChunkPart]:
    """Encode documents in at least one part. `time` is the cluster time of their state."""
    ranges: list[tuple[int, int, SnapshotMarker]] = [(0, len(documents), "incremental")]
    if snapshot.reason is SnapshotReason.INITIAL:
        ranges = list(marker_ranges(len(documents), placement)) or [(0, 0, "true")]
    found = []
    for start, stop, mark in ranges:
        batch = encoder.encode_snapshot(
            documents[start:stop],
            database=snapshot.database,
            collection=snapshot.collection,
            cluster_time=(time.second, time.increment),
            read_at_ms=read_at_ms,
            snapshot=mark,
        )
        rejected = [
            RejectedDocument(documents[start + each.event], each.cause, each.is_malformed)
            for each in batch.failures
        ]
        rest_from = id_document(documents[stop]) if stop < len(documents) else None
        found.append(ChunkPart(batch, stop - start, tuple(rejected), rest_from))
    return found

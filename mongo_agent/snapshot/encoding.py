"""Encoding of snapshot documents as messages."""

from collections.abc import Sequence
from dataclasses import dataclass

from mongo_agent.documents.cluster_time import ClusterTime
from mongo_agent.encoder import MongoBatch, MongoEncoder, id_document
from mongo_agent.snapshot.progress import SnapshotProgress
from mongo_agent.snapshot.records import CollectionSnapshot, SnapshotReason
from mongo_agent.snapshot.snapshot_markers import ChunkPlacement, SnapshotMarker, marker_ranges

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

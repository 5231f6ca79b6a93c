"""Encoding of snapshot documents as messages, with the values of `source.snapshot`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from mongo_agent.dead_letters import Unreadable
from mongo_agent.documents import ClusterTime
from mongo_agent.encoder import MongoBatch, MongoEncoder, id_document
from mongo_agent.snapshot.progress import SnapshotProgress
from mongo_agent.snapshot.records import CollectionSnapshot, InitialSnapshot, SnapshotReason

SnapshotMarker = Literal[
    "true", "first", "first_in_data_collection", "last_in_data_collection", "last", "incremental"
]


def edge_markers(
    snapshot: CollectionSnapshot, before: SnapshotProgress, after: SnapshotProgress
) -> tuple[SnapshotMarker, SnapshotMarker]:
    """Return the markers of the first and the last document of a chunk, from the progress before
    and after it."""
    opening: SnapshotMarker = "true" if snapshot.documents else "first_in_data_collection"
    if not before.initial_documents:
        opening = "first"
    closing: SnapshotMarker = "true"
    if before.initial is InitialSnapshot.RUNNING and after.initial is InitialSnapshot.DONE:
        closing = "last"
    elif after.entry(snapshot.number) is None:
        closing = "last_in_data_collection"
    return opening, closing


def _marker_ranges(
    count: int, opening: SnapshotMarker, closing: SnapshotMarker
) -> Iterator[tuple[int, int, SnapshotMarker]]:
    """Split a chunk of `count` documents into ranges of `start`, `stop` and marker."""
    if not count:
        return
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


@dataclass(frozen=True, slots=True)
class ChunkPart:
    """Documents of a chunk with one marker.

    `rest_from` is the `{_id: …}` of the first document after them; None for the last part.
    """

    batch: MongoBatch
    count: int
    rejected: tuple[Unreadable, ...]
    rest_from: bytes | None = None


@dataclass(frozen=True, slots=True)
class EncodedChunk:
    """Messages of a chunk or a part of it, and the progress after them.

    `rejected` documents have no message.
    """

    batch: MongoBatch
    progress: SnapshotProgress
    rejected: tuple[Unreadable, ...] = ()


def encode_chunk(
    encoder: MongoEncoder,
    snapshot: CollectionSnapshot,
    documents: Sequence[bytes],
    time: ClusterTime,
    read_at_ms: int,
    edges: tuple[SnapshotMarker, SnapshotMarker] = ("true", "true"),
) -> list[ChunkPart]:
    """Encode documents in at least one part. `time` is the cluster time of their state, `edges` the
    markers of the first and the last document of an initial snapshot's chunk."""
    ranges: list[tuple[int, int, SnapshotMarker]] = [(0, len(documents), "incremental")]
    if snapshot.reason is SnapshotReason.INITIAL:
        ranges = list(_marker_ranges(len(documents), *edges)) or [(0, 0, "true")]
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
            Unreadable(documents[start + each.event], snapshot.namespace, each.cause)
            for each in batch.failures
        ]
        rest_from = id_document(documents[stop]) if stop < len(documents) else None
        found.append(ChunkPart(batch, stop - start, tuple(rejected), rest_from))
    return found

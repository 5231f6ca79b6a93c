"""Documents that were read as messages, with what the pipeline needs to know of them."""

from collections.abc import Sequence
from dataclasses import dataclass

from mongo_agent.change_stream.tokens import ClusterTime
from mongo_agent.documents.document_id import id_document
from mongo_agent.encoder import MongoBatch, MongoEncoder
from mongo_agent.snapshot.progress import SnapshotProgress
from mongo_agent.snapshot.records import CollectionSnapshot, SnapshotReason
from mongo_agent.snapshot.snapshot_markers import ChunkPlacement, SnapshotMarker, marker_ranges

_NO_PLACE = ChunkPlacement()


@dataclass(frozen=True, slots=True)
class RefusedDocument:
    """A raw document that gives no message, and why, in one sentence."""

    raw: bytes
    cause: str


@dataclass(frozen=True, slots=True)
class ChunkPart:
    """So many documents of a chunk, which have one mark. `rest_from` is the `{_id: …}` of the first
    one behind them, None where they are the last."""

    batch: MongoBatch
    count: int
    refused: tuple[RefusedDocument, ...]
    rest_from: bytes | None = None


@dataclass(frozen=True, slots=True)
class EncodedChunk:
    """Messages to place, and the progress behind them: a chunk, or a piece of one. `refused`
    documents are in no message."""

    batch: MongoBatch
    collection: str
    progress: SnapshotProgress
    refused: tuple[RefusedDocument, ...] = ()


def encode_chunk(
    encoder: MongoEncoder,
    copy: CollectionSnapshot,
    documents: Sequence[bytes],
    time: ClusterTime,
    read_at_ms: int,
    place: ChunkPlacement = _NO_PLACE,
) -> list[ChunkPart]:
    """At least one, be it empty. `time` is the cluster time at which the documents were so."""
    ranges: list[tuple[int, int, SnapshotMarker]] = [(0, len(documents), "incremental")]
    if copy.reason is SnapshotReason.INITIAL:
        ranges = list(marker_ranges(len(documents), place)) or [(0, 0, "true")]
    found = []
    for start, stop, mark in ranges:
        batch = encoder.encode_snapshot(
            documents[start:stop],
            database=copy.database,
            collection=copy.collection,
            cluster_time=(time.second, time.increment),
            read_at_ms=read_at_ms,
            snapshot=mark,
        )
        refused = [
            RefusedDocument(documents[start + each.event], each.cause) for each in batch.failures
        ]
        rest_from = id_document(documents[stop]) if stop < len(documents) else None
        found.append(ChunkPart(batch, stop - start, tuple(refused), rest_from))
    return found

"""Values of `source.snapshot` for snapshot documents, as in Debezium."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

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
    """The ranges `start`, `stop` of a chunk of `count` documents, with the marker of each."""
    if not count:
        return
    opening = _opening(placement)
    closing = _closing(placement)
    if count == 1:
        # For one document the last marker overrides the first, and both override those of the
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

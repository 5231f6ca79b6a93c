"""What `source.snapshot` says of each document that is copied, as Debezium marks them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

SnapshotMarker = Literal[
    "true", "first", "first_in_data_collection", "last_in_data_collection", "last", "incremental"
]


@dataclass(frozen=True, slots=True)
class ChunkPlacement:
    """Where a chunk of the initial copy stands among what is delivered."""

    is_first: bool = False
    is_first_of_collection: bool = False
    is_last_of_collection: bool = False
    is_last: bool = False


def marker_ranges(count: int, place: ChunkPlacement) -> Iterator[tuple[int, int, SnapshotMarker]]:
    """Ranges `start`, `stop` of a chunk of `count` documents, and the mark of each."""
    if not count:
        return
    opening = _opening(place)
    closing = _closing(place)
    if count == 1:
        # Of several marks for one document the last counts more than the first, and both more than
        # those of its collection.
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


def _opening(place: ChunkPlacement) -> SnapshotMarker:
    if place.is_first:
        return "first"
    return "first_in_data_collection" if place.is_first_of_collection else "true"


def _closing(place: ChunkPlacement) -> SnapshotMarker:
    if place.is_last:
        return "last"
    return "last_in_data_collection" if place.is_last_of_collection else "true"

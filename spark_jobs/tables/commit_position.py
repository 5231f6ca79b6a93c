"""The position in the source that each commit of a typed table contains, as JSON.

The history of the table is the checkpoint of the job. A batch of changes has one commit, or two:
`merge` (updates and deletes), then `insert` (new rows).
"""

import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any

from spark_jobs.follow.plan import Position
from spark_jobs.tables.columns import Columns


class Part(StrEnum):
    WHOLE = "whole"
    MERGE = "merge"
    """The updates and deletes; the new rows follow in a second commit."""
    INSERT = "insert"


@dataclass(frozen=True, slots=True)
class CommitPosition:
    """The position of one commit.

    `app` identifies the store and `table_id` the source table. The table shows the store at
    `store_version`, evaluated at `second`. `columns` contains the fingerprints of the source
    columns at that time, and `offsets` the end offsets in Kafka by topic and partition.
    """

    app: str
    table_id: str
    store_version: int
    second: int
    columns: Mapping[str, str] = field(default_factory=dict)
    offsets: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    part: Part = Part.WHOLE

    def to_json(self) -> str:
        return json.dumps(asdict(self), separators=(",", ":"), sort_keys=True)

    def is_of_batch(self, other: "CommitPosition | None") -> bool:
        """Whether both commits belong to the same batch."""
        own = self.app, self.table_id, self.followed
        return other is not None and own == (other.app, other.table_id, other.followed)

    def as_part(self, part: Part) -> "CommitPosition":
        return replace(self, part=part)

    @property
    def followed(self) -> Position:
        return Position(self.store_version, self.second)

    @property
    def number(self) -> int:
        """A 64-bit number that increases with each commit of a batch."""
        second_bits, part_bits = 33, 1
        moment = (self.store_version << second_bits) | self.second
        return (moment << part_bits) | (self.part != Part.MERGE)


def read_position(text: str | None) -> CommitPosition | None:
    """Parse the position in a commit's metadata; None for a commit of another program."""
    try:
        members: Any = json.loads(text or "")
        return CommitPosition(**{**members, "part": Part(members["part"])})
    except (ValueError, TypeError, KeyError):
        return None


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a table. `merged` is the position of a batch without its new rows yet."""

    complete: CommitPosition | None = None
    merged: CommitPosition | None = None


def progress(newest_first: Iterable[CommitPosition | None]) -> Progress:
    """Derive the progress from commit positions. None stands for a commit of another program."""
    merged = None
    for position in newest_first:
        if position is None:
            continue
        if position.part != Part.MERGE:
            return Progress(position, merged)
        merged = merged or position
    return Progress(None, merged)


def fingerprints(columns: Columns, dropped: Mapping[str, int]) -> dict[str, str]:
    """A fingerprint of each column: its type, and the time of its latest drop in the source."""
    return {
        name: f"{zlib.crc32(kind.simpleString().encode()):08x}"
        + (f"@{dropped[name]}" if name in dropped else "")
        for name, kind in columns.items()
    }


def replaced_columns(known: Mapping[str, str], now: Mapping[str, str]) -> frozenset[str]:
    """The columns that were dropped and added again with a different type, after `known`.

    With the same type, the column stays, because it may already contain later values.
    """
    return frozenset(
        name
        for name in known.keys() & now.keys()
        if all(was != new for was, new in zip(_parts(known[name]), _parts(now[name]), strict=True))
    )


def _parts(fingerprint: str) -> tuple[str, str]:
    """Split a fingerprint into the type and the time of the latest drop."""
    of_type, _, dropped = fingerprint.partition("@")
    return of_type, dropped

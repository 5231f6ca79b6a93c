"""Positions in the Accord journal, and pure functions that detect gaps."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass

from agent.accord.segments import JournalFiles, JournalSegment, parse_segment
from sidecar.errors import OffsetStoreError

_NODE, _SEGMENT, _OFFSET = "node.id", "segment", "offset"
_NEXT_ID, _TRANSACTIONS = "next.id", "transactions"


@dataclass(frozen=True, slots=True)
class JournalPosition:
    """Everything before `offset` in `segment` is in `cdc_raw`, except for open transactions."""

    segment: JournalSegment | None = None
    """None before the first entry."""
    offset: int = 0
    next_id: int = 1
    """The first id that no segment in `cdc_raw` can have used."""
    transactions: bytes = b""
    """Serialized state of unapplied transactions (`commitlog.AccordReader.to_stored`)."""

    def to_entries(self, node_id: str) -> dict[str, str]:
        return {
            _NODE: node_id,
            _SEGMENT: "" if self.segment is None else str(self.segment),
            _OFFSET: str(self.offset),
            _NEXT_ID: str(self.next_id),
            _TRANSACTIONS: base64.b64encode(self.transactions).decode("ascii"),
        }


def position_from_entries(entries: Mapping[str, str], node_id: str) -> JournalPosition:
    """Parses the stored position. If a different node stored it, keeps only the next id. Raises
    OffsetStoreError if the entries are invalid."""
    if not entries:
        return JournalPosition()
    try:
        segment = parse_segment(entries[_SEGMENT])
        offset, next_id = int(entries[_OFFSET]), int(entries[_NEXT_ID])
        transactions = base64.b64decode(entries[_TRANSACTIONS], validate=True)
        stored_node = entries[_NODE]
    except (KeyError, ValueError, binascii.Error) as error:
        raise OffsetStoreError(
            f"The stored position in the Accord journal is invalid ({error!r}). Restore the file "
            "accord_offset.properties from a copy, or move it away to start with the oldest "
            "segment of the journal."
        ) from error
    if stored_node != node_id:
        return JournalPosition(next_id=next_id)
    return JournalPosition(segment, offset, next_id, transactions)


def gap_at_start(position: JournalPosition, files: JournalFiles) -> str:
    """Describes changes that the node may have deleted while the agent was stopped; empty if none.
    The node deletes the oldest segments first, so nothing is missing if the segment of the position
    still exists."""
    segment = position.segment
    if segment is None or segment in files.segments:
        return ""
    following = next((each for each in files.segments if each > segment), None)
    until = "of it" if following is None else f"and before {following}"
    return (
        f"the node deleted {segment} of the Accord journal while the agent was stopped; changes "
        f"after offset {position.offset} {until} may be missing"
    )


def gap_while_running(newest: JournalSegment, found: JournalSegment, files: JournalFiles) -> str:
    """Describes segments that the node may have deleted between the newest known segment and
    `found`; empty if none. A restarted node skips timestamps, but keeps its latest segments for a
    while."""
    has_older = files.segments[0] < found
    if found.timestamp <= newest.timestamp + 1 or has_older or files.is_first_of_run(found):
        return ""
    return (
        f"the node allocated and deleted segments of the Accord journal between {newest} and "
        f"{found} before the agent saw them; their changes are missing"
    )

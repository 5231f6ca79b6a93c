"""The life cycle of segments and their offsets: pure values and decisions."""

from agent.segments.awaited_files import AwaitedFiles
from agent.segments.offsets import SegmentOffsets, offsets_from_entries
from agent.segments.plan import (
    DeletedUnread,
    Segments,
    apply_observation,
    find_deleted_unread,
    next_known,
    pinned_by_link,
    segments_from_offsets,
)
from agent.segments.state import Phase, ReadRequest, Segment

__all__ = [
    "AwaitedFiles",
    "DeletedUnread",
    "Phase",
    "ReadRequest",
    "Segment",
    "SegmentOffsets",
    "Segments",
    "apply_observation",
    "find_deleted_unread",
    "next_known",
    "offsets_from_entries",
    "pinned_by_link",
    "segments_from_offsets",
]

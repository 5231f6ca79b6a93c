"""The life of segments and the progress in them: pure values and decisions."""

from agent.segments.awaited_files import AwaitedFiles
from agent.segments.offsets import Ledger, ledger_from_entries
from agent.segments.plan import (
    Segments,
    Unseen,
    begin,
    deleted_unseen,
    kept_by_link,
    looked,
    next_known,
)
from agent.segments.state import Phase, Read, Segment

__all__ = [
    "AwaitedFiles",
    "Ledger",
    "Phase",
    "Read",
    "Segment",
    "Segments",
    "Unseen",
    "begin",
    "deleted_unseen",
    "kept_by_link",
    "ledger_from_entries",
    "looked",
    "next_known",
]

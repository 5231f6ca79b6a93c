"""The life of segments and the progress in them: pure values and decisions."""

from agent.segments.ledger import Ledger, ledger_from_entries
from agent.segments.plan import Segments, begin, looked, next_known
from agent.segments.state import Phase, Read, Segment

__all__ = [
    "Ledger",
    "Phase",
    "Read",
    "Segment",
    "Segments",
    "begin",
    "ledger_from_entries",
    "looked",
    "next_known",
]

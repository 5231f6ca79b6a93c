"""How much the quarantine holds."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Usage:
    """How much the quarantine holds, of how many segments."""

    size_bytes: int = 0
    """Of all files in the directory."""
    segments: int = 0
    """With ranges or events that were not delivered, whether the segment itself is there or not."""
    kept: int = 0
    """Segments with ranges that were not delivered, which can be read again."""
    gone: int = 0
    """Segments with such ranges that are nowhere any more."""
    ranges: int = 0
    """Of all segments."""
    refused_events: int = 0
    kept_names: tuple[str, ...] = ()
    """The oldest few."""
    gone_names: tuple[str, ...] = ()
    event_names: tuple[str, ...] = ()
    """The oldest few segments and copies with rejected events."""

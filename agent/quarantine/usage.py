"""Size and counts of the quarantine."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class QuarantineUsage:
    """Totals over the directory, with the oldest few names of each kind."""

    size_bytes: int = 0
    """Size of all files."""
    segments: int = 0
    """Segments with lost ranges or dead letters, whether their file is still available or not."""
    available: int = 0
    """Segments with lost ranges that the agent can read again."""
    missing: int = 0
    """Segments with lost ranges whose file no longer exists anywhere."""
    ranges: int = 0
    """Lost ranges of all segments."""
    dead_letters: int = 0
    available_names: tuple[str, ...] = ()
    missing_names: tuple[str, ...] = ()
    dead_letter_names: tuple[str, ...] = ()
    """Segments and snapshots with dead letters."""

"""Choices of a writer that do not change the content."""

from dataclasses import dataclass

from tests.oracle.reference.times import LDT_EPOCH_S, TIMESTAMP_EPOCH_US


@dataclass(frozen=True, slots=True)
class Bases:
    """The bases of the times of an update; any value is valid (EncodingStats; §4.3).

    Nodes use the smallest of each, so differences are never negative.
    """

    timestamp_us: int = TIMESTAMP_EPOCH_US
    ldt_s: int = LDT_EPOCH_S
    ttl_s: int = 0


@dataclass(frozen=True, slots=True)
class Form:
    """The form of a mutation.

    `flags` is the first byte of a mutation of version 9. `bases` None: the smallest times of each
    update. `unused_columns` are listed in the header of an update if its table has them, even if no
    row uses them. `shares_times`: cells refer to the times of their row where both are equal.
    `epoch` is that of every table, written from version 9 on.
    """

    version: int = 7
    flags: int = 0
    epoch: int = 1
    bases: Bases | None = None
    unused_columns: frozenset[str] = frozenset()
    shares_times: bool = True
    has_row_estimate: bool = True
    is_empty_flag_used: bool = False
    """An update of nothing is written as a flag instead of an end without rows."""

"""Choices that a writer has and that change nothing of what is said."""

from dataclasses import dataclass

from tests.oracle.reference.times import LDT_EPOCH_S, TIMESTAMP_EPOCH_US


@dataclass(frozen=True, slots=True)
class Bases:
    """What the times of an update are written relative to; any will do (EncodingStats; §4.3).

    Nodes take the smallest of each, so that differences are never negative.
    """

    timestamp_us: int = TIMESTAMP_EPOCH_US
    ldt_s: int = LDT_EPOCH_S
    ttl_s: int = 0


@dataclass(frozen=True, slots=True)
class Form:
    """How a mutation is written.

    `flags` is the byte in front of version 9. `bases` None: the smallest times of each update.
    `unused_columns` are listed in the head of an update as far as its table has them, though no row
    may use them. `shares_times`: cells refer to the times of their row where these are equal.
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
    """An update of nothing is written as a flag and not as an end without rows."""

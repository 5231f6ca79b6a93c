"""One case: statements whose events are compared."""

from dataclasses import dataclass
from typing import Literal

KEYSPACE = "peer"
POISON_KEYSPACE = "peer_poison"
"""Tables of the cases with which the peer fails."""

Loss = Literal["nothing", "segment", "process"]


@dataclass(frozen=True, slots=True)
class Case:
    """Statements under a name, which begins with that of its group, if it has one.

    `loses`: what ends when the peer meets it. A case that loses a segment gets one of its own, one
    that loses the process a run of its own.
    """

    name: str
    statements: tuple[str, ...]
    group: str = ""
    loses: Loss = "nothing"


@dataclass(frozen=True, slots=True)
class Chapter:
    """Tables and the cases on them."""

    title: str
    schema: tuple[str, ...]
    cases: tuple[Case, ...]

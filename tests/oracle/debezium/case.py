"""One case: statements whose events are compared."""

from dataclasses import dataclass
from pathlib import Path
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


def written_cases(name: str, loses: Loss = "nothing") -> tuple[Case, ...]:
    """The cases of a file of CQL: blocks with a name in the first line, then a statement a line."""
    blocks = (Path(__file__).parent / f"{name}.cql").read_text(encoding="utf-8").split("\n\n")
    found = []
    for block in blocks:
        head, *statements = block.strip().split("\n")
        found.append(Case(head.removeprefix("-- "), tuple(statements), loses=loses))
    return tuple(found)


def written_chapter(title: str, name: str, loses: Loss = "nothing") -> Chapter:
    """The chapter of a file, whose first block is the schema."""
    schema, *cases = written_cases(name, loses)
    return Chapter(title, schema.statements, tuple(cases))

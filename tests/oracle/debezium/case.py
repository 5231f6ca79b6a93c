"""One case: statements whose events are compared."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

KEYSPACE = "peer"
POISON_KEYSPACE = "peer_poison"
"""Tables of the cases on which the peer fails."""

Loss = Literal["nothing", "segment", "process"]


@dataclass(frozen=True, slots=True)
class Case:
    """Named statements; the name starts with that of the group, if any. `loses`: what the peer
    loses with this case. A case that loses a segment uses a separate one, a case that loses the
    process a separate run."""

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
    """Cases of a CQL file: blocks with a name in the first line, then one statement per line."""
    blocks = (Path(__file__).parent / f"{name}.cql").read_text(encoding="utf-8").split("\n\n")
    found = []
    for block in blocks:
        head, *statements = block.strip().split("\n")
        found.append(Case(head.removeprefix("-- "), tuple(statements), loses=loses))
    return tuple(found)


def written_chapter(title: str, name: str, loses: Loss = "nothing") -> Chapter:
    """Chapter of a file, whose first block is the schema."""
    schema, *cases = written_cases(name, loses)
    return Chapter(title, schema.statements, tuple(cases))

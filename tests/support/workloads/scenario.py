"""What one workload consists of, and the words that all are written with."""

from dataclasses import dataclass

Release = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Scenario:
    """One workload: the statements that make keyspaces and tables, and the writes in order."""

    name: str
    schema: tuple[str, ...]
    statements: tuple[str, ...]


def create_keyspace(name: str, replication_factor: int = 1) -> str:
    return (
        f"CREATE KEYSPACE {name} WITH replication = "
        f"{{'class': 'SimpleStrategy', 'replication_factor': {replication_factor}}}"
    )


def batch(*statements: str, kind: str = "", using: str = "") -> str:
    """A batch of statements; `kind` is empty (logged), UNLOGGED or COUNTER."""
    head = " ".join(word for word in ("BEGIN", kind, "BATCH", using) if word)
    return f"{head} {'; '.join(statements)}; APPLY BATCH"

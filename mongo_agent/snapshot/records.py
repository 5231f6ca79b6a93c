"""What progress is made of: what is asked for, what of it is copied, and what is done."""

from dataclasses import dataclass
from enum import Enum

from mongo_agent.capture.namespaces import Namespaces


class SnapshotReason(Enum):
    """Why something is copied."""

    INITIAL = "initial"
    """All that is captured, at the agent's first start."""
    INCLUDED = "included"
    """The filters take it since a restart."""
    SIGNAL = "signal"
    """Somebody asked for it."""


class SnapshotOutcome(Enum):
    """How the copy of a collection ended."""

    COPIED = "copied"
    SKIPPED = "skipped"
    """Views and the like: nothing that changes by itself."""
    DROPPED = "dropped"
    """The collection went while it was copied."""
    STOPPED = "stopped"
    REFUSED = "refused"
    """The server does not take the filter."""


class InitialSnapshot(Enum):
    """How far the initial copy is."""

    NONE = "none"
    RUNNING = "running"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Chunk:
    """Documents from `lower` to in front of `upper`, which are raw `{_id: …}`; None is the end."""

    lower: bytes | None
    upper: bytes | None


@dataclass(frozen=True, slots=True)
class SnapshotRequest:
    """A wish, before it is known which collections there are.

    `names` are those of a signal, all that is captured otherwise; `filters` are pairs of one of
    them and a query. `known` is what was captured before, and is not copied again; nor is what
    the names in `but` mean.
    """

    reason: SnapshotReason
    names: tuple[str, ...] = ()
    filters: tuple[tuple[str, str], ...] = ()
    known: Namespaces | None = None
    signal: str | None = None
    but: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SelectedCollection:
    """A collection that a request is about. `skipped` says why it is not copied after all."""

    database: str
    collection: str
    filter: str | None = None
    hint: str = "_id_"
    is_plain: bool = False
    estimated: int | None = None
    skipped: str | None = None


@dataclass(frozen=True, slots=True)
class CollectionSnapshot:
    """A collection that is being copied, or waits for it. `number` tells copies apart.

    `filter` is a query as extended JSON, `hint` the index of `_id`. One that `is_plain` cannot be
    read at a cluster time. `estimated` is how many documents there were when it was asked for.
    """

    number: int
    database: str
    collection: str
    reason: SnapshotReason
    signal: str | None = None
    filter: str | None = None
    hint: str = "_id_"
    is_plain: bool = False
    estimated: int | None = None
    planned_to: bytes | None = None
    is_planned: bool = False
    chunks: tuple[Chunk, ...] = ()
    documents: int = 0
    delivered_chunks: int = 0

    @property
    def namespace(self) -> str:
        return f"{self.database}.{self.collection}"

    @property
    def is_complete(self) -> bool:
        return self.is_planned and not self.chunks


@dataclass(frozen=True, slots=True)
class FinishedSnapshot:
    """A collection whose copy ended. `note` says more for a person where there is more to say."""

    namespace: str
    reason: SnapshotReason
    outcome: SnapshotOutcome
    signal: str | None = None
    documents: int = 0
    chunks: int = 0
    note: str | None = None

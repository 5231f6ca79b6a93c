"""Records of snapshot progress: requests, running and finished snapshots."""

import base64
from dataclasses import dataclass
from enum import Enum
from typing import Annotated

from pydantic import Base64Encoder, EncodedBytes

from mongo_agent.capture.namespaces import Namespaces
from mongo_agent.documents import NEVER, ClusterTime


class SnapshotReason(Enum):
    """Why a snapshot is taken."""

    INITIAL = "initial"
    """Everything captured, at the first start."""
    INCLUDED = "included"
    """The filters include the collection since a restart."""
    SIGNAL = "signal"
    """Requested by a signal."""


class SnapshotOutcome(Enum):
    COPIED = "copied"
    SKIPPED = "skipped"
    """Views and time series, which have no change events."""
    DROPPED = "dropped"
    """The collection was dropped during the snapshot."""
    RENAMED = "renamed"
    """The collection was renamed during the snapshot."""
    STOPPED = "stopped"
    REFUSED = "refused"
    """The server rejected the filter."""


class InitialSnapshot(Enum):
    NONE = "none"
    RUNNING = "running"
    DONE = "done"


class _StrictBase64(Base64Encoder):
    @classmethod
    def decode(cls, data: bytes) -> bytes:
        return base64.b64decode(data, validate=True)


Bound = Annotated[bytes, EncodedBytes(encoder=_StrictBase64)]
"""A raw `{_id: …}`; base64 in the stored form."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Documents from `lower` to before `upper`, where None is unbounded."""

    lower: Bound | None
    upper: Bound | None


@dataclass(frozen=True, slots=True)
class SnapshotRequest:
    """A requested snapshot whose collections are not resolved yet.

    `names` come from a signal; without a signal, the request covers everything captured. `filters`
    are pairs of a name and a query. The snapshot excludes collections captured before (`known`) and
    collections that `but` selects.
    """

    reason: SnapshotReason
    names: tuple[str, ...] = ()
    filters: tuple[tuple[str, str], ...] = ()
    known: Namespaces | None = None
    signal: str | None = None
    but: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CollectionSnapshot:
    """A running or waiting snapshot of a collection, identified by `number`.

    `filter` is a query in extended JSON, `hint` the index on `_id`. `is_plain`: the collection
    cannot be read at a cluster time. `estimated` is the document count at the request. The
    collection had its name at `since`; it is read after all earlier events of the stream.
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
    planned_to: Bound | None = None
    is_planned: bool = False
    chunks: tuple[Chunk, ...] = ()
    documents: int = 0
    delivered_chunks: int = 0
    since: ClusterTime = NEVER

    @property
    def namespace(self) -> str:
        return f"{self.database}.{self.collection}"

    @property
    def is_complete(self) -> bool:
        return self.is_planned and not self.chunks


@dataclass(frozen=True, slots=True)
class ReplacedCollection:
    """A captured name whose documents changed as a whole, by a drop or a rename at `since`.

    The topic may contain documents that the collection does not have. `is_missing`: it may also
    lack documents of the collection. `is_requested`: the agent is to publish the deletes.
    """

    database: str
    collection: str
    since: ClusterTime
    cause: str
    is_missing: bool = False
    is_requested: bool = False

    @property
    def namespace(self) -> str:
        return f"{self.database}.{self.collection}"


@dataclass(frozen=True, slots=True)
class FinishedSnapshot:
    """A finished snapshot of a collection. `note` explains the outcome."""

    namespace: str
    reason: SnapshotReason
    outcome: SnapshotOutcome
    signal: str | None = None
    documents: int = 0
    chunks: int = 0
    note: str | None = None

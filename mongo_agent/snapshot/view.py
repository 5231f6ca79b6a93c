"""The progress of snapshots for the page, metrics and HTTP."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

from mongo_agent.snapshot.progress import SnapshotProgress
from mongo_agent.snapshot.records import CollectionSnapshot, FinishedSnapshot, SnapshotOutcome

_FAILING = "failing"


@dataclass(frozen=True, slots=True)
class CollectionView:
    """The snapshot of one collection. Unknown values are absent in JSON."""

    collection: str
    state: str
    """`waiting`, `copying`, `failing`, or the outcome."""
    reason: str
    documents: int
    chunks: int
    estimated: int | None = None
    """The server's document count at the time of the request; unknown with a filter."""
    percent: float | None = None
    signal: str | None = None
    note: str | None = None
    """The reason of `failing` or of the outcome."""


@dataclass(frozen=True, slots=True)
class SnapshotView:
    """The snapshots of one stream. Unknown values are absent in JSON."""

    is_running: bool
    """Whether documents remain to be read, delivered or acknowledged, or the end to be stored."""
    is_paused: bool
    initial: str
    is_aborted: bool
    """Whether part of the initial snapshot was stopped."""
    collections: tuple[CollectionView, ...]
    requests: int
    remaining_collections: int
    finished_collections: int
    remaining_documents: int | None = None
    """An estimate."""
    documents_per_s: float | None = None
    remaining_s: float | None = None
    """An estimate."""

    @property
    def rejected(self) -> dict[str, str]:
        """The reasons by collection, for collections that cannot be copied."""
        last = {each.collection: each for each in self.collections}
        return {
            name: each.note or ""
            for name, each in last.items()
            if each.state in (_FAILING, SnapshotOutcome.REFUSED.value)
        }

    def values(self) -> dict[str, Any]:
        """The JSON form, without unknown values."""
        return asdict(
            self, dict_factory=lambda pairs: {n: value for n, value in pairs if value is not None}
        )


def view_of(
    progress: SnapshotProgress,
    delivered: int = 0,
    elapsed_s: float = 0.0,
    failing: Mapping[int, str] = MappingProxyType({}),
) -> SnapshotView:
    """Build the view; this process delivered `delivered` documents in `elapsed_s` seconds.
    `failing` contains the reasons for collections that are set aside, by snapshot number."""
    remaining = [_remaining(each) for each in progress.collections]
    known = [each for each in remaining if each is not None]
    remaining_documents = sum(known) if known or not remaining else None
    per_s = delivered / elapsed_s if delivered and elapsed_s > 0 else None
    remaining_s = None
    if per_s is not None and remaining_documents is not None:
        remaining_s = round(remaining_documents / per_s, 1)
    return SnapshotView(
        is_running=not progress.is_idle,
        is_paused=progress.is_paused,
        initial=progress.initial.value,
        is_aborted=progress.is_aborted,
        collections=(
            *map(_ended_view, progress.finished),
            *(_open_view(each, failing.get(each.number)) for each in progress.collections),
        ),
        requests=len(progress.requests),
        remaining_collections=len(progress.collections),
        finished_collections=progress.finished_count,
        remaining_documents=remaining_documents,
        documents_per_s=None if per_s is None else round(per_s, 1),
        remaining_s=remaining_s,
    )


def _remaining(snapshot: CollectionSnapshot) -> int | None:
    if snapshot.estimated is None or snapshot.filter is not None:
        return None
    return max(0, snapshot.estimated - snapshot.documents)


def _open_view(snapshot: CollectionSnapshot, failure: str | None) -> CollectionView:
    state = "copying" if snapshot.planned_to is not None or snapshot.is_planned else "waiting"
    remaining = _remaining(snapshot)
    percent = None
    if remaining is not None:
        total = remaining + snapshot.documents
        percent = round(100 * snapshot.documents / total, 1) if total else 100.0
    return CollectionView(
        snapshot.namespace,
        state if failure is None else _FAILING,
        snapshot.reason.value,
        snapshot.documents,
        snapshot.delivered_chunks,
        None if remaining is None else snapshot.estimated,
        percent,
        snapshot.signal,
        failure,
    )


def _ended_view(finished: FinishedSnapshot) -> CollectionView:
    return CollectionView(
        finished.namespace,
        finished.outcome.value,
        finished.reason.value,
        finished.documents,
        finished.chunks,
        signal=finished.signal,
        note=finished.note,
    )

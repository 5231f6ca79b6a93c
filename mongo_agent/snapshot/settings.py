"""Snapshot settings, and the progress at a start for each `snapshot.mode`."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal

from mongo_agent.capture.namespaces import Namespaces
from mongo_agent.snapshot.progress import SnapshotProgress
from mongo_agent.snapshot.records import InitialSnapshot, SnapshotReason, SnapshotRequest
from sidecar.fetch_size import FetchSize

SnapshotMode = Literal["initial", "no_data", "initial_only", "always", "when_needed"]

_REPLY_BYTES = 4 << 20
_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class SnapshotSettings:
    """The agent reads `threads` chunks in parallel (`snapshot.max.threads`).

    A chunk has about `chunk_size` documents (`incremental.snapshot.chunk.size`), at most twice as
    many, and about `chunk_bytes`. A reply holds at most `fetch_size` documents
    (`snapshot.fetch.size`; 0: as many as fit into about 4 MiB). `filters` are queries in extended
    JSON by `database.collection` (`snapshot.collection.filter.overrides`). `chosen` selects
    collections for automatic snapshots (`snapshot.include.collection.list`). Reads start after
    `delay_ms` (`snapshot.delay.ms`). Without `has_index_bounds`, the server supports neither `min`
    and `max` nor causal reads.
    """

    mode: SnapshotMode = "initial"
    threads: int = 1
    chunk_size: int = 1024
    chunk_bytes: int = 16 << 20
    fetch_size: int = 0
    filters: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    chosen: Namespaces = field(default_factory=Namespaces)
    delay_ms: int = 0
    has_index_bounds: bool = True

    @property
    def first_size(self) -> FetchSize:
        # One document more than a chunk can have marks the start of the rest.
        limit = self.fetch_size or 2 * self.chunk_size + 1
        return FetchSize(_REPLY_BYTES, limit, rows=self.fetch_size or 1)


def progress_at_start(
    stored: SnapshotProgress, mode: SnapshotMode, namespaces: Namespaces
) -> SnapshotProgress:
    """Return the progress to start with.

    `stored` is empty at the very first start. An interrupted initial snapshot resumes, even in the
    mode `always`: otherwise a snapshot that takes longer than the time between restarts would never
    end.
    """
    progress = _without_uncaptured(stored, namespaces)
    of_signals = [each for each in progress.requests if each.reason is SnapshotReason.SIGNAL]
    is_first = stored.scope is None and stored.initial is InitialSnapshot.NONE
    if mode == "no_data":
        known = progress.collections
        automatic = [each for each in known if each.reason is not SnapshotReason.SIGNAL]
        progress = replace(progress, requests=tuple(of_signals))
        progress = progress.stopped(automatic, "`snapshot.mode` is `no_data`")
    elif is_first or (mode == "always" and stored.initial is not InitialSnapshot.RUNNING):
        progress = progress.requested(SnapshotRequest(SnapshotReason.INITIAL))
    elif stored.scope not in (None, namespaces) and len(of_signals) == len(progress.requests):
        # No open request covers newly captured collections. Collections captured before have a
        # snapshot, or all their changes were streamed.
        progress = progress.requested(SnapshotRequest(SnapshotReason.INCLUDED, known=stored.scope))
    return replace(progress, scope=namespaces)


def restarted(progress: SnapshotProgress, reason: str) -> SnapshotProgress:
    """Request a new snapshot of everything captured, which replaces running snapshots."""
    progress = progress.without_requests()
    progress = progress.stopped(progress.collections, f"replaced by a new snapshot: {reason}")
    return progress.requested(SnapshotRequest(SnapshotReason.INITIAL))


def _without_uncaptured(progress: SnapshotProgress, namespaces: Namespaces) -> SnapshotProgress:
    gone = [
        each
        for each in progress.collections
        if not namespaces.captures(each.database, each.collection)
    ]
    for each in progress.replaced:
        if not namespaces.captures(each.database, each.collection):
            progress = progress.without_replaced(each.namespace)
    return progress.stopped(gone, "no longer captured")

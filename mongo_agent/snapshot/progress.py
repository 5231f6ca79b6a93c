"""Snapshot progress: a frozen value and its transitions.

    Request ── resolved ──> CollectionSnapshot ── planned ──> chunks ── delivered ──> Finished

A collection is a range of `_id`s, cut into chunks up to `planned_to`. The record contains the
undelivered chunks. These chunks, and everything after `planned_to`, are exactly the missing
documents, so a restart resumes there. The rest of a partly read chunk becomes a chunk.
"""

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from pydantic import ConfigDict, TypeAdapter, with_config

from mongo_agent.capture.namespaces import Namespaces
from mongo_agent.documents import NEVER, ClusterTime
from mongo_agent.snapshot.records import (
    Chunk,
    CollectionSnapshot,
    FinishedSnapshot,
    InitialSnapshot,
    ReplacedCollection,
    SnapshotOutcome,
    SnapshotReason,
    SnapshotRequest,
)
from sidecar.errors import OffsetStoreError

KEPT_FINISHED = 200
"""Finished collections to show; older collections are only counted."""
KEPT_REPLACED = 1000
"""Replaced collections to keep until a command or a snapshot; the oldest are dropped first."""
_KEPT_SEEN = 100
_VERSION = 1
_VERSION_NAME = "version"


@with_config(ConfigDict(extra="forbid"))
@dataclass(frozen=True, slots=True)
class SnapshotProgress:
    """The snapshot progress of a stream.

    `scope` is what the stream captured when this was stored. `initial_documents` counts documents
    that the initial snapshot delivered, `finished_count` ended collections. `is_aborted`: a signal
    stopped part of the initial snapshot. `seen` are signals that a channel may repeat;
    `kafka_offset` is the offset of the last signal from a topic.
    """

    requests: tuple[SnapshotRequest, ...] = ()
    collections: tuple[CollectionSnapshot, ...] = ()
    finished: tuple[FinishedSnapshot, ...] = ()
    finished_count: int = 0
    initial: InitialSnapshot = InitialSnapshot.NONE
    initial_documents: int = 0
    is_aborted: bool = False
    is_paused: bool = False
    next_number: int = 1
    scope: Namespaces | None = None
    seen: tuple[str, ...] = ()
    kafka_offset: int | None = None
    replaced: tuple[ReplacedCollection, ...] = ()

    @property
    def is_idle(self) -> bool:
        return not self.requests and not self.collections

    def entry(self, number: int) -> CollectionSnapshot | None:
        return next((each for each in self.collections if each.number == number), None)

    def requested(self, request: SnapshotRequest) -> "SnapshotProgress":
        progress = replace(self, requests=(*self.requests, request))
        if request.reason is not SnapshotReason.INITIAL:
            return progress
        return replace(
            progress, initial=InitialSnapshot.RUNNING, initial_documents=0, is_aborted=False
        )

    def resolved(
        self,
        request: SnapshotRequest,
        selected: Sequence[CollectionSnapshot | FinishedSnapshot],
        since: ClusterTime = NEVER,
    ) -> "SnapshotProgress":
        """Replace a request with its collections as of a time, in order; no effect if it was
        withdrawn."""
        if request not in self.requests:
            return self
        finished = [each for each in selected if isinstance(each, FinishedSnapshot)]
        unnumbered = (each for each in selected if isinstance(each, CollectionSnapshot))
        entries = [
            replace(each, number=number, since=since)
            for number, each in enumerate(unnumbered, self.next_number)
        ]
        at = self.requests.index(request)
        return replace(
            self,
            requests=(*self.requests[:at], *self.requests[at + 1 :]),
            collections=(*self.collections, *entries),
            next_number=self.next_number + len(entries),
        )._with_finished(finished)

    def planned(
        self, number: int, bounds: Sequence[bytes], *, is_whole: bool
    ) -> "SnapshotProgress":
        """Add chunks up to each bound; with `is_whole` also the last chunk of the collection."""
        entry = self.entry(number)
        if entry is None or entry.is_planned:
            return self
        lowers = [entry.planned_to, *bounds]
        chunks = [Chunk(*pair) for pair in zip(lowers, bounds, strict=False)]
        if is_whole:
            chunks.append(Chunk(lowers[-1], None))
        planned = replace(
            entry, planned_to=lowers[-1], is_planned=is_whole, chunks=(*entry.chunks, *chunks)
        )
        return self._with(planned)

    def delivered(
        self,
        number: int,
        chunk: Chunk,
        documents: int,
        rest_from: bytes | None = None,
        *,
        is_piece: bool = False,
    ) -> "SnapshotProgress":
        """Record a delivered chunk, or its part before `rest_from`; the rest becomes a chunk.

        With `is_piece` the part is not counted as a chunk.
        """
        entry = self.entry(number)
        if entry is None or chunk not in entry.chunks:
            return self
        at = entry.chunks.index(chunk)
        rest = () if rest_from is None else (Chunk(rest_from, chunk.upper),)
        done = replace(
            entry,
            chunks=(*entry.chunks[:at], *rest, *entry.chunks[at + 1 :]),
            documents=entry.documents + documents,
            delivered_chunks=entry.delivered_chunks + (not is_piece),
        )
        progress = self._with(done)
        if entry.reason is SnapshotReason.INITIAL:
            total = self.initial_documents + documents
            progress = replace(progress, initial_documents=total)
        return progress.ended(number, SnapshotOutcome.COPIED) if done.is_complete else progress

    def ended(
        self, number: int, outcome: SnapshotOutcome, note: str | None = None
    ) -> "SnapshotProgress":
        entry = self.entry(number)
        if entry is None:
            return self
        end = FinishedSnapshot(
            entry.namespace,
            entry.reason,
            outcome,
            entry.signal,
            entry.documents,
            entry.delivered_chunks,
            note,
        )
        left = tuple(each for each in self.collections if each.number != number)
        is_aborted = entry.reason is SnapshotReason.INITIAL and outcome is SnapshotOutcome.STOPPED
        progress = replace(self, collections=left, is_aborted=self.is_aborted or is_aborted)
        return progress._with_finished([end])

    def stopped(self, entries: Iterable[CollectionSnapshot], note: str) -> "SnapshotProgress":
        """End the snapshots of collections that the agent is not to copy."""
        progress = self
        for each in entries:
            progress = progress.ended(each.number, SnapshotOutcome.STOPPED, note)
        return progress

    def begun_anew(
        self, entry: CollectionSnapshot, database: str, collection: str, since: ClusterTime
    ) -> "SnapshotProgress":
        """Add a snapshot like `entry` for the collection that has had this name since a time."""
        new = replace(
            entry,
            number=self.next_number,
            database=database,
            collection=collection,
            planned_to=None,
            is_planned=False,
            chunks=(),
            documents=0,
            delivered_chunks=0,
            since=since,
        )
        return replace(self, collections=(*self.collections, new), next_number=self.next_number + 1)

    def without_cluster_time(self, number: int) -> "SnapshotProgress":
        """Record that a collection cannot be read at a cluster time."""
        entry = self.entry(number)
        return self if entry is None else self._with(replace(entry, is_plain=True))

    def without_requests(self) -> "SnapshotProgress":
        is_aborted = any(each.reason is SnapshotReason.INITIAL for each in self.requests)
        progress = replace(self, requests=(), is_aborted=self.is_aborted or is_aborted)
        return progress._with_finished([])

    @property
    def refused(self) -> tuple[FinishedSnapshot, ...]:
        """Collections that the server refused, and that no later snapshot copied."""
        last = {each.namespace: each for each in self.finished}
        return tuple(each for each in last.values() if each.outcome is SnapshotOutcome.REFUSED)

    def with_refused_skipped(self, namespaces: Collection[str]) -> "SnapshotProgress":
        """Record that an operator skips refused collections."""
        finished = tuple(
            replace(each, outcome=SnapshotOutcome.STOPPED)
            if each.outcome is SnapshotOutcome.REFUSED and each.namespace in namespaces
            else each
            for each in self.finished
        )
        return replace(self, finished=finished)

    def paused(self, is_paused: bool) -> "SnapshotProgress":
        return replace(self, is_paused=is_paused)

    def with_signal(self, occurrence: str | None, kafka_offset: int | None) -> "SnapshotProgress":
        """Record a signal, so that the agent does not apply it twice."""
        seen = self.seen if occurrence is None else (*self.seen, occurrence)[-_KEPT_SEEN:]
        offset = self.kafka_offset if kafka_offset is None else kafka_offset
        return replace(self, seen=seen, kafka_offset=offset)

    def with_replaced(self, entry: ReplacedCollection) -> "SnapshotProgress":
        """Add a replaced collection; it supersedes an earlier entry with the same name."""
        others = self.without_replaced(entry.namespace).replaced
        return replace(self, replaced=(*others, entry)[-KEPT_REPLACED:])

    def without_replaced(self, namespace: str) -> "SnapshotProgress":
        """Remove a replaced collection: its topic is correct again, or an operator took over."""
        left = tuple(each for each in self.replaced if each.namespace != namespace)
        return replace(self, replaced=left)

    def to_json(self) -> str:
        """Format the stored form: one line, without default values."""
        stored = _STORED.dump_python(self, mode="json", exclude_defaults=True)
        return json.dumps({_VERSION_NAME: _VERSION, **stored}, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> "SnapshotProgress":
        """Parse `to_json`. Raises `OffsetStoreError` for an invalid format or unknown version."""
        try:
            stored = json.loads(text)
            version = stored.pop(_VERSION_NAME)
            if version == _VERSION:
                return _STORED.validate_python(stored)
        except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
            raise OffsetStoreError(
                f"The stored snapshot progress cannot be read: {type(error).__name__}, {error}. "
                "Restore an intact copy of the offsets."
            ) from error
        raise OffsetStoreError(
            f"The stored snapshot progress has version {version!r}; this agent supports "
            f"{_VERSION}. Run the release that wrote it, or a later one."
        )

    def _with(self, entry: CollectionSnapshot) -> "SnapshotProgress":
        changed = tuple(entry if each.number == entry.number else each for each in self.collections)
        return replace(self, collections=changed)

    def _with_finished(self, finished: Sequence[FinishedSnapshot]) -> "SnapshotProgress":
        reasons = {each.reason for each in self.requests} | {
            each.reason for each in self.collections
        }
        is_running = SnapshotReason.INITIAL in reasons
        ends = self.initial is InitialSnapshot.RUNNING and not is_running
        return replace(
            self,
            finished=_kept((*self.finished, *finished)),
            finished_count=self.finished_count + len(finished),
            initial=InitialSnapshot.DONE if ends else self.initial,
        )


def _kept(finished: tuple[FinishedSnapshot, ...]) -> tuple[FinishedSnapshot, ...]:
    """Keep the latest collections, and refused collections, which the status reports."""
    older, kept = finished[:-KEPT_FINISHED], finished[-KEPT_FINISHED:]
    last = {each.namespace: each for each in finished}
    refused = (each for each in older if each.outcome is SnapshotOutcome.REFUSED)
    return (*(each for each in refused if last[each.namespace] is each), *kept)


_STORED = TypeAdapter(SnapshotProgress)

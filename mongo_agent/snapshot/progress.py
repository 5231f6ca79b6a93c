"""What is to be copied, what of it is planned, and what is delivered: a frozen value and its moves.

    Request ── resolved ──> CollectionSnapshot ── planned ──> chunks ── delivered ──> Finished

A collection is a line of `_id`s. Up to `planned_to` it is cut into chunks; those that are not
delivered are kept, all others are done. So at any moment what is kept, and what lies behind
`planned_to`, is exactly what is missing, and a restart goes on there. A chunk that was read only in
part leaves its rest as a chunk.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from mongo_agent.capture.namespaces import Namespaces
from mongo_agent.snapshot.json_records import RecordReader, to_json_value
from mongo_agent.snapshot.records import (
    Chunk,
    CollectionSnapshot,
    FinishedSnapshot,
    InitialSnapshot,
    SelectedCollection,
    SnapshotOutcome,
    SnapshotReason,
    SnapshotRequest,
)
from sidecar.errors import OffsetStoreError

KEPT_FINISHED = 200
"""So many collections that are done are kept, to be shown; older ones only count."""
_KEPT_SEEN = 100
_VERSION = 1
_VERSION_NAME = "version"


@dataclass(frozen=True, slots=True)
class SnapshotProgress:
    """`scope` is what the stream captured when this was stored. `initial_documents` are those that
    the initial copy delivered, `finished_count` all collections that ended. `is_aborted`: a part of
    it was stopped by a signal. `seen` are signals that may come a second time, and `kafka_offset`
    is that of the last one from a topic.
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

    @property
    def is_idle(self) -> bool:
        """Whether nothing is left to copy."""
        return not self.requests and not self.collections

    def entry(self, number: int) -> CollectionSnapshot | None:
        """A copy that has not ended."""
        return next((each for each in self.collections if each.number == number), None)

    def requested(self, request: SnapshotRequest) -> "SnapshotProgress":
        """A wish is taken down."""
        progress = replace(self, requests=(*self.requests, request))
        if request.reason is not SnapshotReason.INITIAL:
            return progress
        return replace(
            progress, initial=InitialSnapshot.RUNNING, initial_documents=0, is_aborted=False
        )

    def resolved(
        self, request: SnapshotRequest, selected: Sequence[SelectedCollection]
    ) -> "SnapshotProgress":
        """The collections of a request are known, in the order in which they are copied. Nothing
        happens when the request was taken back meanwhile."""
        if request not in self.requests:
            return self
        entries: list[CollectionSnapshot] = []
        finished: list[FinishedSnapshot] = []
        for each in selected:
            if each.skipped is not None:
                name = f"{each.database}.{each.collection}"
                end = FinishedSnapshot(
                    name, request.reason, SnapshotOutcome.SKIPPED, request.signal
                )
                finished.append(replace(end, note=each.skipped))
                continue
            entries.append(_entry(self.next_number + len(entries), request, each))
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
        """Chunks up to each of the bounds follow what is planned; `is_whole`: and one behind them,
        to the end of the collection."""
        entry = self.entry(number)
        if entry is None or entry.is_planned:
            return self
        lowers = [entry.planned_to, *bounds]
        chunks = [Chunk(*pair) for pair in zip(lowers, bounds, strict=False)]
        if is_whole:
            chunks.append(Chunk(lowers[-1], None))
        planned = replace(
            entry,
            planned_to=lowers[-1],
            is_planned=is_whole,
            chunks=(*entry.chunks, *chunks),
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
        """A chunk is done, or up to `rest_from`, and what lies behind becomes one of its own; the
        first pieces of a chunk are not counted as chunks."""
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
        """A copy is over, whatever of it is left."""
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

    def without_cluster_time(self, number: int) -> "SnapshotProgress":
        """A collection cannot be read at a cluster time."""
        entry = self.entry(number)
        return self if entry is None else self._with(replace(entry, is_plain=True))

    def without_requests(self) -> "SnapshotProgress":
        """Wishes that are not yet looked up are taken back."""
        is_aborted = any(each.reason is SnapshotReason.INITIAL for each in self.requests)
        progress = replace(self, requests=(), is_aborted=self.is_aborted or is_aborted)
        return progress._with_finished([])

    def paused(self, is_paused: bool) -> "SnapshotProgress":
        return replace(self, is_paused=is_paused)

    def having_seen(self, occurrence: str | None, kafka_offset: int | None) -> "SnapshotProgress":
        """A signal was answered, and is not answered again."""
        seen = self.seen if occurrence is None else (*self.seen, occurrence)[-_KEPT_SEEN:]
        offset = self.kafka_offset if kafka_offset is None else kafka_offset
        return replace(self, seen=seen, kafka_offset=offset)

    def to_json(self) -> str:
        """One line, for the position that is stored. What has its default value is left out."""
        return json.dumps({_VERSION_NAME: _VERSION, **to_json_value(self)}, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> "SnapshotProgress":
        """Raises `OffsetStoreError` for what `to_json` of this version did not write."""
        try:
            stored = json.loads(text)
            version = stored.pop(_VERSION_NAME)
            if version == _VERSION:
                return cls(**_read(RecordReader(stored)))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise OffsetStoreError(
                f"The stored progress of copies cannot be read: {type(error).__name__}, {error}. "
                "Put a good copy of the position back."
            ) from error
        raise OffsetStoreError(
            f"The stored progress of copies has the version {version!r}, and this agent knows "
            f"{_VERSION}. Run the agent that wrote it, or a later one."
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
            finished=(*self.finished, *finished)[-KEPT_FINISHED:],
            finished_count=self.finished_count + len(finished),
            initial=InitialSnapshot.DONE if ends else self.initial,
        )


def _entry(
    number: int, request: SnapshotRequest, selected: SelectedCollection
) -> CollectionSnapshot:
    return CollectionSnapshot(
        number,
        selected.database,
        selected.collection,
        request.reason,
        request.signal,
        selected.filter,
        selected.hint,
        selected.is_plain,
        selected.estimated,
    )


def _read(stored: RecordReader) -> dict[str, Any]:
    stored.each("requests", RecordReader.request)
    stored.each("collections", RecordReader.collection)
    stored.each("finished", RecordReader.finished)
    stored.each("seen", str)
    stored.one("initial", InitialSnapshot)
    stored.one("scope", RecordReader.namespaces)
    return stored.values

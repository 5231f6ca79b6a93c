"""Effects of drops and renames on unfinished snapshots.

At the place of such an event in the output, documents under the name that it frees are no longer
read. A collection that gets the name later is in the stream from its first document on, except one
that is renamed: its snapshot begins anew under the new name, so that no document is missed.

A list of collections shows the names at a time (`CollectionSnapshot.since`). Later events change
them; earlier ones are in the list already.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from bson import Timestamp
from bson.errors import InvalidBSON
from bson.raw_bson import RawBSONDocument

from mongo_agent.capture.namespaces import Namespaces
from mongo_agent.documents import ClusterTime
from mongo_agent.snapshot.progress import SnapshotProgress
from mongo_agent.snapshot.records import CollectionSnapshot, SnapshotOutcome

_OPERATIONS = ("drop", "dropDatabase", "rename")
_PUBLISHED = "schema"
"""Kind of the messages of these events, where they are published."""


@dataclass(frozen=True, slots=True)
class DdlEvent:
    """A drop or a rename. Without `collection` a database was dropped; `to` is the new name."""

    time: ClusterTime
    database: str
    collection: str | None
    to: tuple[str, str] | None = None


def has_ddl_events(skipped: Collection[str], published: Iterable[tuple[str, str]]) -> bool:
    """Whether a batch may have drops or renames: by the reasons of `MongoBatch.skipped` and the
    keys of `MongoBatch.counts`. A look at each event would be slow."""
    return any(each in skipped for each in _OPERATIONS) or any(
        kind == _PUBLISHED for _, kind in published
    )


def ddl_events(events: Iterable[bytes]) -> Iterator[DdlEvent]:
    """The drops and renames among raw change events, in order."""
    for event in events:
        try:
            raw = RawBSONDocument(event)
            if raw.get("operationType") in _OPERATIONS:
                yield _ddl_event(raw)
        except (InvalidBSON, KeyError, ValueError):
            # The event is a dead letter.
            continue


def _ddl_event(raw: Mapping[str, object]) -> DdlEvent:
    time, ns, to = raw["clusterTime"], raw["ns"], raw.get("to")
    if not isinstance(time, Timestamp) or not isinstance(ns, Mapping):
        raise ValueError("a drop or rename without time or name")
    new_name = (str(to["db"]), str(to["coll"])) if isinstance(to, Mapping) else None
    collection = ns.get("coll")
    return DdlEvent(
        ClusterTime(time.time, time.inc),
        str(ns["db"]),
        None if collection is None else str(collection),
        new_name,
    )


def after_ddl_event(
    progress: SnapshotProgress, event: DdlEvent, namespaces: Namespaces, *, is_merged: bool
) -> SnapshotProgress:
    """The progress at the place of an event in the output.

    A stream that merges shards (`is_merged`) repeats a drop for each shard. It proves nothing
    there; the next read finds a collection that no longer exists.
    """
    if event.to is not None:
        return _after_rename(progress, event, event.to, namespaces)
    if is_merged:
        return progress
    for each in progress.collections:
        is_named = each.database == event.database and event.collection in (None, each.collection)
        if is_named and each.since < event.time:
            progress = progress.ended(
                each.number, SnapshotOutcome.DROPPED, "dropped during the snapshot"
            )
    return progress


def _after_rename(
    progress: SnapshotProgress, event: DdlEvent, to: tuple[str, str], namespaces: Namespaces
) -> SnapshotProgress:
    source, target = f"{event.database}.{event.collection}", f"{to[0]}.{to[1]}"
    renamed = [each for each in progress.collections if each.namespace == source]
    targets = [each for each in progress.collections if each.namespace == target]
    replaced = [each for each in targets if each.since < event.time]
    known = {_origin(each) for each in targets if each.since >= event.time}
    note = f"renamed to {target}, which is not captured"
    if namespaces.captures(*to):
        note = f"renamed to {target}; the snapshot begins anew under this name"
        # Before the others end: an initial snapshot ends with its last collection.
        for each in (*renamed, *replaced):
            if _origin(each) not in known:
                known.add(_origin(each))
                progress = progress.begun_anew(each, *to, event.time)
    for each in renamed:
        if each.since < event.time:
            progress = progress.ended(each.number, SnapshotOutcome.RENAMED, note)
    for each in replaced:
        progress = progress.ended(
            each.number, SnapshotOutcome.DROPPED, f"replaced by {source}, which was renamed"
        )
    return progress


def _origin(snapshot: CollectionSnapshot) -> tuple[object, ...]:
    return snapshot.reason, snapshot.signal, snapshot.filter

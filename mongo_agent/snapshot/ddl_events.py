"""Effects of drops and renames on unfinished snapshots and on topics. Pure.

When such an event is placed in the output, the agent stops reading documents under the name that it
frees. If a collection is created under this name later, the stream contains all its documents. The
snapshot of a renamed collection starts again under the new name, so that no document is missed. A
list of collections shows the names at a time (`CollectionSnapshot.since`), after earlier events.

A drop or rename has one event, not one for each document. So the topic keeps documents of the old
collection, and after a rename to a captured name it lacks documents of the new collection. An entry
for such a replaced collection remains until `TopicSweep` has published the deletes, or an
operator's command removes it.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from bson import Timestamp
from bson.errors import InvalidBSON
from bson.raw_bson import RawBSONDocument

from mongo_agent.capture.namespaces import Namespaces
from mongo_agent.documents import NEVER, ClusterTime
from mongo_agent.snapshot.progress import SnapshotProgress
from mongo_agent.snapshot.records import (
    CollectionSnapshot,
    ReplacedCollection,
    SnapshotOutcome,
    SnapshotReason,
    SnapshotRequest,
)

_OPERATIONS = ("drop", "dropDatabase", "rename")
_PUBLISHED = "schema"
"""Message kind of these events, if the agent publishes them."""
SIGNAL_ID = "collection.replaced"
"""The signal id of snapshots of replaced collections."""


@dataclass(frozen=True, slots=True)
class DdlEvent:
    """A drop or a rename. Without `collection` a database was dropped; `to` is the new name."""

    time: ClusterTime
    database: str
    collection: str | None
    to: tuple[str, str] | None = None


def has_ddl_events(skipped: Collection[str], published: Iterable[tuple[str, str]]) -> bool:
    """Whether a batch may contain drops or renames, by the reasons of `MongoBatch.skipped` and the
    keys of `MongoBatch.counts`. Parsing each event would be slow."""
    return any(each in skipped for each in _OPERATIONS) or any(
        kind == _PUBLISHED for _, kind in published
    )


def ddl_events(events: Iterable[bytes]) -> Iterator[DdlEvent]:
    """Yield the drops and renames among raw change events, in order."""
    for event in events:
        try:
            raw = RawBSONDocument(event)
            if raw.get("operationType") in _OPERATIONS and not _is_internal(raw):
                yield _ddl_event(raw)
        except (InvalidBSON, KeyError, ValueError):
            # The event becomes a dead letter.
            continue


def _is_internal(raw: Mapping[str, object]) -> bool:
    """Whether a server renames a collection of its own. An upgrade to 9.0 gives the buckets of each
    time series the name of the series."""
    names = (raw.get("ns"), raw.get("to"))
    return any(
        isinstance(each, Mapping) and str(each.get("coll")).startswith("system.") for each in names
    )


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
    """Apply an event at its place in the output.

    A stream that merges shards (`is_merged`) repeats a drop for each shard, so a drop proves
    nothing there; the next read detects that the collection no longer exists.
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
        note = f"renamed to {target}; the snapshot restarts under this name"
        # Add these before the others end: an initial snapshot ends with its last collection.
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


ReplacedPolicy = Literal["report", "resnapshot", "skip"]


@dataclass(frozen=True, slots=True)
class ReplacementRules:
    """How the agent reacts to replacements. `no_deletes` is why it cannot publish deletes."""

    policy: ReplacedPolicy = "report"
    no_deletes: str = "the agent cannot read its topics"


def after_replacement(
    progress: SnapshotProgress, event: DdlEvent, namespaces: Namespaces, rules: ReplacementRules
) -> SnapshotProgress:
    """Record the collections that an event replaces. Follows `after_ddl_event`."""
    if rules.policy == "skip":
        return progress
    for entry in _replaced(event):
        known = next(
            (each for each in progress.replaced if each.namespace == entry.namespace), None
        )
        is_known = known is not None and known.since >= entry.since
        if is_known or not namespaces.captures(entry.database, entry.collection):
            continue
        is_missing = entry.is_missing and not _is_in_snapshot(progress, entry)
        entry = replace(entry, is_missing=is_missing)
        progress = progress.with_replaced(entry)
        if rules.policy == "resnapshot":
            progress = requested(progress, entry, rules)
    return progress


def requested(
    progress: SnapshotProgress, entry: ReplacedCollection, rules: ReplacementRules
) -> SnapshotProgress:
    """Request the documents of a replaced collection, and deletes of all other documents."""
    if entry.is_missing:
        name = f"(?-i:{re.escape(entry.namespace)})"
        request = SnapshotRequest(SnapshotReason.SIGNAL, (name,), signal=SIGNAL_ID)
        progress = progress.requested(request)
    has_deletes = not rules.no_deletes
    entry = replace(entry, is_missing=False, is_requested=has_deletes)
    return progress.with_replaced(entry)


def ordered(
    progress: SnapshotProgress, entry: ReplacedCollection, rules: ReplacementRules
) -> SnapshotProgress:
    """Apply an operator's command, which ends the report."""
    progress = requested(progress, entry, rules)
    return progress.without_replaced(entry.namespace) if rules.no_deletes else progress


def unreported(database: str, collection: str) -> ReplacedCollection:
    """Create an entry for a collection that an operator names, without an event."""
    return ReplacedCollection(database, collection, NEVER, "requested", is_missing=True)


def _replaced(event: DdlEvent) -> Iterator[ReplacedCollection]:
    """Yield the names that an event frees or fills. The drop of a database follows the drops of its
    collections."""
    if event.collection is None:
        return
    source = f"{event.database}.{event.collection}"
    if event.to is None:
        yield ReplacedCollection(event.database, event.collection, event.time, "dropped")
        return
    target = ".".join(event.to)
    yield ReplacedCollection(event.database, event.collection, event.time, f"renamed to {target}")
    cause = f"replaced by {source}"
    yield ReplacedCollection(*event.to, event.time, cause, is_missing=True)


def _is_in_snapshot(progress: SnapshotProgress, entry: ReplacedCollection) -> bool:
    """Whether an unfinished snapshot reads the documents under this name since the event."""
    return any(each.reason is SnapshotReason.INITIAL for each in progress.requests) or any(
        each.namespace == entry.namespace and each.since >= entry.since and each.filter is None
        for each in progress.collections
    )

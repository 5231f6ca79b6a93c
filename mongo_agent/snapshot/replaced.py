"""Replaced collections: captured names whose documents changed as a whole. Pure.

A drop and a rename have one event, and none for each document. So the topic keeps documents of the
old collection, and after a rename to a captured name it lacks those of the new one. An entry says
so until `TopicSweep` has published the deletes, and a snapshot the documents.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from mongo_agent.capture.namespaces import Namespaces
from mongo_agent.documents import NEVER
from mongo_agent.snapshot.ddl_events import DdlEvent
from mongo_agent.snapshot.progress import SnapshotProgress
from mongo_agent.snapshot.records import ReplacedCollection, SnapshotReason, SnapshotRequest

ReplacedPolicy = Literal["report", "resnapshot", "skip"]
SIGNAL_ID = "collection.replaced"
"""The id of snapshots of replaced collections."""


@dataclass(frozen=True, slots=True)
class ReplacementRules:
    """What the agent does. `no_deletes` is the reason why it cannot publish deletes."""

    policy: ReplacedPolicy = "report"
    no_deletes: str = "the agent cannot read its topics"


def after_replacement(
    progress: SnapshotProgress, event: DdlEvent, namespaces: Namespaces, rules: ReplacementRules
) -> SnapshotProgress:
    """The progress after an event whose effects on unfinished snapshots are applied."""
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
    """Request the documents of a replaced collection, and deletes of all others."""
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
    """The progress after an operator's command, which ends the report."""
    progress = requested(progress, entry, rules)
    return progress.without_replaced(entry.namespace) if rules.no_deletes else progress


def unreported(database: str, collection: str) -> ReplacedCollection:
    """The entry of a collection that an operator names, without an event."""
    return ReplacedCollection(database, collection, NEVER, "named by a command", is_missing=True)


def _replaced(event: DdlEvent) -> Iterator[ReplacedCollection]:
    """The names that an event frees or fills. A drop of a database follows those of its
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
    """Whether an unfinished snapshot reads the documents that a name has since the event."""
    return any(each.reason is SnapshotReason.INITIAL for each in progress.requests) or any(
        each.namespace == entry.namespace and each.since >= entry.since and each.filter is None
        for each in progress.collections
    )

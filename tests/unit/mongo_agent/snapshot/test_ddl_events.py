"""Drops and renames of collections with unfinished snapshots."""

from typing import Any

import bson
import pytest
from bson import Timestamp

from mongo_agent.capture.namespaces import Namespaces
from mongo_agent.documents import ClusterTime
from mongo_agent.snapshot.ddl_events import DdlEvent, after_ddl_event, ddl_events, has_ddl_events
from mongo_agent.snapshot.progress import SnapshotProgress
from mongo_agent.snapshot.records import (
    InitialSnapshot,
    SnapshotOutcome,
    SnapshotReason,
    SnapshotRequest,
)
from tests.support.mongodb.given_streams import selected_collection

REQUEST = SnapshotRequest(SnapshotReason.INITIAL)
LISTED = ClusterTime(5, 1)
LATER = ClusterTime(6, 1)
ALL = Namespaces()


def progress(*names: str) -> SnapshotProgress:
    selected = [selected_collection(REQUEST, name) for name in names]
    begun = SnapshotProgress().requested(REQUEST).resolved(REQUEST, selected, LISTED)
    for each in begun.collections:
        begun = begun.planned(each.number, [b"x"], is_whole=False)
    return begun


def rename(source: str, target: str, time: ClusterTime = LATER) -> DdlEvent:
    return DdlEvent(time, "shop", source, ("shop", target))


def after(begun: SnapshotProgress, *events: DdlEvent, **choices: Any) -> SnapshotProgress:
    for event in events:
        namespaces = choices.get("namespaces", ALL)
        is_merged = choices.get("is_merged", False)
        begun = after_ddl_event(begun, event, namespaces, is_merged=is_merged)
    return SnapshotProgress.from_json(begun.to_json())


def names(begun: SnapshotProgress) -> list[tuple[str, ClusterTime, bool]]:
    return [(each.collection, each.since, bool(each.chunks)) for each in begun.collections]


def test_renamed_collection_restarts_its_snapshot() -> None:
    found = after(progress("a", "b"), rename("a", "c"))
    assert names(found) == [("b", LISTED, True), ("c", LATER, False)]
    assert found.finished[-1].outcome is SnapshotOutcome.RENAMED
    assert found.initial is InitialSnapshot.RUNNING


def test_rename_of_last_collection_keeps_initial_snapshot_running() -> None:
    found = after(progress("a"), rename("a", "c"))
    assert found.initial is InitialSnapshot.RUNNING
    gone = after(progress("a"), rename("a", "c"), namespaces=Namespaces(("shop",), (), ("shop.a",)))
    assert gone.initial is InitialSnapshot.DONE
    assert gone.finished[-1].note == "renamed to shop.c, which is not captured"


@pytest.mark.parametrize("begun", [progress("a", "b"), progress("a"), progress("b")])
def test_replaced_collection_restarts_its_snapshot_once(begun: SnapshotProgress) -> None:
    """The renamed collection itself need not have an unfinished snapshot."""
    found = after(begun, rename("a", "b"))
    assert names(found) == [("b", LATER, False)]
    assert names(after(found, rename("a", "b"))) == names(found)


def test_ddl_events_at_listing_time_keep_listed_names() -> None:
    earlier = rename("x", "a", LISTED)
    assert names(after(progress("a"), earlier)) == names(progress("a"))
    dropped = DdlEvent(LISTED, "shop", "a")
    assert names(after(progress("a"), dropped)) == names(progress("a"))


def test_rename_at_listing_time_keeps_both_names() -> None:
    """The listing may contain either name, so the snapshot omits neither."""
    found = after(progress("a"), rename("a", "c", LISTED))
    assert names(found) == [("a", LISTED, True), ("c", LISTED, False)]


def test_rename_of_uncaptured_collection_changes_nothing() -> None:
    begun = progress("a")
    assert after(begun, rename("y", "z")) == begun


@pytest.mark.parametrize("collection", ["a", None])
def test_drop_ends_collection_snapshot(collection: str | None) -> None:
    found = after(progress("a"), DdlEvent(LATER, "shop", collection))
    assert found.is_idle
    assert found.finished[-1].outcome is SnapshotOutcome.DROPPED


def test_drop_on_another_shard_does_not_end_snapshot() -> None:
    begun = progress("a")
    found = after(begun, rename("a", "b"), DdlEvent(ClusterTime(6, 2), "shop", "b"), is_merged=True)
    assert [each.collection for each in found.collections] == ["b"]


def test_ddl_events_are_parsed_from_server_format() -> None:
    ns, time = {"db": "shop", "coll": "a"}, Timestamp(6, 1)
    events: list[dict[str, Any]] = [
        {"operationType": "insert", "ns": ns, "clusterTime": time},
        {"operationType": "drop", "ns": ns, "clusterTime": time},
        {"operationType": "dropDatabase", "ns": {"db": "shop"}, "clusterTime": time},
        {"operationType": "rename", "ns": ns, "to": {"db": "t", "coll": "b"}, "clusterTime": time},
        {"operationType": "drop"},
        {
            "operationType": "rename",
            "ns": {"db": "shop", "coll": "system.buckets.a"},
            "to": ns,
            "clusterTime": time,
        },
    ]
    assert list(ddl_events([*map(bson.encode, events), b"noise"])) == [
        DdlEvent(LATER, "shop", "a"),
        DdlEvent(LATER, "shop", None),
        DdlEvent(LATER, "shop", "a", ("t", "b")),
    ]


def test_batches_without_ddl_events_are_not_parsed() -> None:
    assert not has_ddl_events({"not captured": 3}, {("shop.a", "insert"): 1})
    assert has_ddl_events({"rename": 1}, {})
    assert has_ddl_events({}, {("shop.a", "schema"): 1})

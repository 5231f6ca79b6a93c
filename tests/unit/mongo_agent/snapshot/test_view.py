"""The status view of snapshots."""

import json

from mongo_agent.snapshot.progress import SnapshotProgress
from mongo_agent.snapshot.records import SnapshotOutcome, SnapshotReason, SnapshotRequest
from mongo_agent.snapshot.view import view_of
from tests.support.mongodb.given_streams import selected_collection

REQUEST = SnapshotRequest(SnapshotReason.SIGNAL, (".*",), signal="s1")


def test_snapshot_view_computes_percent_and_remaining_time() -> None:
    selected = [
        selected_collection(REQUEST, "a", estimated=100),
        selected_collection(REQUEST, "b", estimated=50),
        selected_collection(REQUEST, "c", '{"n": 1}', estimated=9),
        selected_collection(REQUEST, "v", skipped="it is a view"),
    ]
    progress = SnapshotProgress().requested(REQUEST).resolved(REQUEST, selected)
    progress = progress.planned(1, [b"x"], is_whole=True)
    progress = progress.delivered(1, progress.collections[0].chunks[0], 25)
    view = view_of(progress, delivered=25, elapsed_s=5)
    assert view.is_running
    assert [(each.collection, each.state, each.percent) for each in view.collections] == [
        ("shop.v", "skipped", None),
        ("shop.a", "copying", 25.0),
        ("shop.b", "waiting", 0.0),
        ("shop.c", "waiting", None),
    ]
    assert (view.remaining_documents, view.documents_per_s, view.remaining_s) == (125, 5.0, 25.0)
    shown = json.loads(json.dumps(view.values()))
    assert shown["collections"][0]["note"] == "it is a view"
    assert "percent" not in shown["collections"][3]


def test_snapshot_view_without_snapshots_is_idle() -> None:
    view = view_of(SnapshotProgress())
    assert not view.is_running
    assert (view.remaining_documents, view.remaining_s) == (0, None)


def test_low_estimate_is_capped_at_100_percent() -> None:
    progress = SnapshotProgress().requested(REQUEST)
    progress = progress.resolved(REQUEST, [selected_collection(REQUEST, "a", estimated=0)])
    progress = progress.planned(1, [b"x"], is_whole=False)
    assert view_of(progress).collections[0].percent == 100.0
    progress = progress.delivered(1, progress.collections[0].chunks[0], 7)
    assert view_of(progress).collections[0].percent == 100.0
    assert view_of(progress.ended(1, SnapshotOutcome.DROPPED, "gone")).collections[0].documents == 7

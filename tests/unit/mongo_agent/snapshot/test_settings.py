"""The snapshots that a start requests."""

import pytest

from mongo_agent.capture.namespaces import Namespaces
from mongo_agent.snapshot.progress import SnapshotProgress
from mongo_agent.snapshot.records import (
    InitialSnapshot,
    SnapshotOutcome,
    SnapshotReason,
    SnapshotRequest,
)
from mongo_agent.snapshot.settings import SnapshotMode, progress_at_start, restarted
from tests.support.mongodb.given_streams import selected_collection

ALL = Namespaces()
SHOP = Namespaces(include_collections=("shop[.].*",))
COPYING: list[SnapshotMode] = ["initial", "initial_only", "always", "when_needed"]
INITIAL = SnapshotRequest(SnapshotReason.INITIAL)
SIGNAL = SnapshotRequest(SnapshotReason.SIGNAL, ("shop.a",))


def begun(namespaces: Namespaces = ALL) -> SnapshotProgress:
    selected = [
        selected_collection(INITIAL, "a"),
        selected_collection(INITIAL, "b", database="crm"),
    ]
    return progress_at_start(SnapshotProgress(), "initial", namespaces).resolved(INITIAL, selected)


def done(namespaces: Namespaces = ALL) -> SnapshotProgress:
    return begun(namespaces).ended(1, SnapshotOutcome.COPIED).ended(2, SnapshotOutcome.COPIED)


@pytest.mark.parametrize("mode", COPYING)
def test_first_start_snapshots_all_collections(mode: SnapshotMode) -> None:
    progress = progress_at_start(SnapshotProgress(), mode, ALL)
    assert progress.requests == (INITIAL,)
    assert progress.initial is InitialSnapshot.RUNNING


def test_no_data_mode_never_snapshots_existing_documents() -> None:
    progress = progress_at_start(SnapshotProgress(), "no_data", ALL)
    assert progress.is_idle
    assert progress_at_start(progress, "initial", ALL).is_idle


@pytest.mark.parametrize("mode", COPYING)
def test_interrupted_snapshot_resumes(mode: SnapshotMode) -> None:
    assert progress_at_start(begun(), mode, ALL) == begun()


@pytest.mark.parametrize(("mode", "is_copied"), [("always", True), ("initial", False)])
def test_second_start_snapshots_only_in_mode_always(mode: SnapshotMode, is_copied: bool) -> None:
    progress = progress_at_start(done(), mode, ALL)
    assert progress.requests == ((INITIAL,) if is_copied else ())


def test_full_restart_abandons_running_snapshots() -> None:
    progress = restarted(begun().requested(SIGNAL), "events are missing")
    assert progress.requests == (INITIAL,)
    assert progress.collections == ()
    assert progress.initial is InitialSnapshot.RUNNING
    assert [each.outcome for each in progress.finished] == [SnapshotOutcome.STOPPED] * 2


def test_newly_captured_collections_are_snapshotted() -> None:
    """A collection created while its changes were streamed needs no snapshot."""
    progress = progress_at_start(done(SHOP), "initial", ALL)
    assert progress.requests == (SnapshotRequest(SnapshotReason.INCLUDED, known=SHOP),)
    # The filters change once more before the agent lists the collections.
    third = Namespaces(include_databases=("shop", "crm"))
    later = progress_at_start(progress, "initial", third)
    assert later.requests == progress.requests
    assert later.scope == third


def test_filter_change_before_listing_keeps_one_request() -> None:
    assert progress_at_start(
        progress_at_start(SnapshotProgress(), "initial", SHOP), "initial", ALL
    ).requests == (INITIAL,)


def test_collections_no_longer_captured_end_their_snapshot() -> None:
    progress = progress_at_start(begun(), "initial", SHOP)
    assert [each.namespace for each in progress.collections] == ["shop.a"]
    assert progress.finished[-1].note == "no longer captured"


def test_no_data_mode_abandons_only_initial_snapshot() -> None:
    asked = begun().requested(SIGNAL)
    progress = progress_at_start(asked, "no_data", ALL)
    assert progress.collections == ()
    assert progress.requests == (SIGNAL,)
    assert progress.initial is InitialSnapshot.DONE

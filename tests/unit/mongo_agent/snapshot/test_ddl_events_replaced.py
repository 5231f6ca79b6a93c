"""Drops and renames of captured collections, and the command that clears their report."""

from dataclasses import replace
from typing import Any

import pytest

from mongo_agent.capture.namespaces import Namespaces
from mongo_agent.documents import ClusterTime
from mongo_agent.signals.signal import Signal, SignalResult
from mongo_agent.snapshot.apply_signal import apply_signal
from mongo_agent.snapshot.ddl_events import (
    DdlEvent,
    ReplacedPolicy,
    ReplacementRules,
    after_replacement,
)
from mongo_agent.snapshot.progress import KEPT_REPLACED, SnapshotProgress
from mongo_agent.snapshot.records import ReplacedCollection, SnapshotReason, SnapshotRequest
from mongo_agent.snapshot.settings import progress_at_start
from tests.support.mongodb.given_streams import selected_collection

SHOP = Namespaces(include_collections=("shop[.][a-d]",))
TIME, LATER = ClusterTime(5, 1), ClusterTime(6, 1)
EMPTY = SnapshotProgress()


def renamed(source: str, target: str, time: ClusterTime = TIME) -> DdlEvent:
    return DdlEvent(time, "shop", source, ("shop", target))


def dropped(name: str | None, time: ClusterTime = TIME) -> DdlEvent:
    return DdlEvent(time, "shop", name)


def after(
    *events: DdlEvent,
    progress: SnapshotProgress = EMPTY,
    policy: ReplacedPolicy = "report",
    no_deletes: str = "",
) -> SnapshotProgress:
    for event in events:
        progress = after_replacement(progress, event, SHOP, ReplacementRules(policy, no_deletes))
    return SnapshotProgress.from_json(progress.to_json())


def entries(progress: SnapshotProgress) -> list[tuple[str, str, bool]]:
    return [(each.collection, each.cause, each.is_missing) for each in progress.replaced]


@pytest.mark.parametrize(
    ("event", "found"),
    [
        (dropped("a"), [("a", "dropped", False)]),
        (dropped("x"), []),
        (dropped(None), []),
        (renamed("a", "b"), [("a", "renamed to shop.b", False), ("b", "replaced by shop.a", True)]),
        (renamed("a", "x"), [("a", "renamed to shop.x", False)]),
        (renamed("x", "b"), [("b", "replaced by shop.x", True)]),
        (renamed("tmp.agg_out.1", "b"), [("b", "replaced by shop.tmp.agg_out.1", True)]),
        (renamed("x", "y"), []),
    ],
)
def test_replaced_collections_are_recorded(
    event: DdlEvent, found: list[tuple[str, str, bool]]
) -> None:
    assert entries(after(event)) == found
    assert after(event, policy="skip") == EMPTY
    assert after(event).is_idle


def test_last_ddl_event_of_name_counts_once() -> None:
    swap = [renamed("a", "x"), renamed("b", "a", LATER)]
    found = after(*swap)
    assert entries(found) == [("b", "renamed to shop.a", False), ("a", "replaced by shop.b", True)]
    assert after(*swap, progress=found) == found
    assert entries(after(dropped("a", ClusterTime(7, 1)), progress=found))[-1] == (
        "a",
        "dropped",
        False,
    )


def test_documents_read_by_snapshot_are_not_missing() -> None:
    initial = EMPTY.requested(SnapshotRequest(SnapshotReason.INITIAL))
    assert [each.is_missing for each in after(renamed("x", "a"), progress=initial).replaced] == [
        False
    ]
    begun = initial.resolved(
        initial.requests[0], [selected_collection(initial.requests[0], "a")], LATER
    )
    assert not after(renamed("x", "a"), progress=begun).replaced[0].is_missing
    assert after(renamed("x", "a", ClusterTime(7, 1)), progress=begun).replaced[0].is_missing


def test_resnapshot_policy_requests_deletes_if_possible() -> None:
    found = after(renamed("a", "b"), policy="resnapshot")
    assert [each.is_requested for each in found.replaced] == [True, True]
    assert [each.names for each in found.requests] == [(r"(?-i:shop\.b)",)]
    partly = after(renamed("a", "b"), policy="resnapshot", no_deletes="because")
    assert [(each.is_requested, each.is_missing) for each in partly.replaced] == [
        (False, False),
        (False, False),
    ]
    assert len(partly.requests) == 1


def test_replaced_collection_entries_are_bounded() -> None:
    progress = EMPTY
    for number in range(KEPT_REPLACED + 3):
        progress = progress.with_replaced(ReplacedCollection("shop", f"c{number}", TIME, "dropped"))
    assert len(progress.replaced) == KEPT_REPLACED
    assert progress.replaced[-1].collection == f"c{KEPT_REPLACED + 2}"


def test_start_forgets_uncaptured_replaced_collections() -> None:
    found = after(renamed("a", "b"))
    started = progress_at_start(found, "initial", Namespaces(include_collections=("shop[.]b",)))
    assert [each.collection for each in started.replaced] == ["b"]


def ordered(
    progress: SnapshotProgress, *names: str, no_deletes: str = "", **data: Any
) -> tuple[SnapshotProgress, SignalResult]:
    content = {"data-collections": list(names), "replace": True, **data}
    signal = Signal("7", "execute-snapshot", content, "http")
    return apply_signal(progress, signal, SHOP, ReplacementRules("report", no_deletes))


def test_replace_command_requests_missing_documents_and_deletes() -> None:
    found = after(renamed("a", "b"), dropped("c"))
    progress, result = ordered(found, "shop.[bc]")
    assert result.is_accepted
    assert "shop.b, shop.c receive their missing documents, and deletes" in result.message
    assert [(each.collection, each.is_requested) for each in progress.replaced] == [
        ("a", False),
        ("b", True),
        ("c", True),
    ]
    assert len(progress.requests) == 1


def test_replace_command_without_deletes_ends_report() -> None:
    found = after(renamed("a", "b"))
    progress, result = ordered(found, ".*", no_deletes="the topic is Avro")
    assert progress.replaced == ()
    assert len(progress.requests) == 1
    assert "no deletes, because the topic is Avro" in result.message


def test_replace_command_accepts_collection_without_event() -> None:
    progress, result = ordered(EMPTY, "shop.d")
    assert result.is_accepted
    assert [(each.collection, each.is_requested) for each in progress.replaced] == [("d", True)]
    assert len(progress.requests) == 1


@pytest.mark.parametrize(
    ("names", "data", "message"),
    [
        (["shop.x"], {}, "does not capture shop.x"),
        (["other.*"], {}, "No replaced collection matches other.*"),
        (["shop.["], {}, "shop.["),
        (["shop.a"], {"replace": 1}, "`replace` must be true or false"),
        (
            ["shop.a"],
            {"additional-conditions": [{"data-collection": "shop.a", "filter": "{}"}]},
            "only without `additional-conditions`",
        ),
    ],
)
def test_replace_command_without_selection_is_rejected(
    names: list[str], data: dict[str, Any], message: str
) -> None:
    progress, result = ordered(EMPTY, *names, **data)
    assert not result.is_accepted
    assert message in result.message
    assert replace(progress, seen=()) == EMPTY

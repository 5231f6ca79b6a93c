"""Signals, their effect on the progress, and the answers."""

from dataclasses import replace
from typing import Any

import pytest

from mongo_agent.capture.namespaces import Namespaces
from mongo_agent.server.catalogue import CollectionInfo, CollectionKind
from mongo_agent.signals.signal import Signal, parse_signal
from mongo_agent.snapshot.apply_signal import apply_signal
from mongo_agent.snapshot.collections import matching_collections, select_collections
from mongo_agent.snapshot.progress import SnapshotProgress
from mongo_agent.snapshot.records import CollectionSnapshot, SnapshotReason, SnapshotRequest
from mongo_agent.snapshot.settings import SnapshotSettings
from tests.support.mongodb.given_streams import selected_collection

SHOP = Namespaces(include_databases=("shop", "a.b"))
FOUND = [
    CollectionInfo("shop", "a"),
    CollectionInfo("shop", "A"),
    CollectionInfo("shop", "a.b"),
    CollectionInfo("shop", "ab", CollectionKind.CAPPED),
    CollectionInfo("shop", "orders_2024"),
    CollectionInfo("shop", "orders_2025"),
    CollectionInfo("shop", "prices", CollectionKind.TIME_SERIES),
    CollectionInfo("shop", "seen", CollectionKind.VIEW),
]


def signal(kind: str, **data: Any) -> Signal:
    named = {name.replace("_", "-"): value for name, value in data.items()}
    return parse_signal({"id": "s1", "type": kind, "data": named}, "test")


def accepted(progress: SnapshotProgress, asked: Signal) -> tuple[SnapshotProgress, str]:
    after, answer = apply_signal(progress, asked, SHOP)
    assert answer.is_accepted, answer.message
    return after, answer.message


def copying(*names: str) -> SnapshotProgress:
    request = SnapshotRequest(SnapshotReason.SIGNAL, names)
    selected = [selected_collection(request, name) for name in names]
    return SnapshotProgress().requested(request).resolved(request, selected)


@pytest.mark.parametrize("kind", [{}, {"type": "incremental"}, {"type": "BLOCKING"}])
def test_execute_signal_requests_a_snapshot(kind: dict[str, str]) -> None:
    asked = signal("execute-snapshot", data_collections=["shop.a", "shop[.]o.*"], **kind)
    progress, sentence = accepted(SnapshotProgress(), asked)
    assert progress.requests == (
        SnapshotRequest(SnapshotReason.SIGNAL, ("shop.a", "shop[.]o.*"), signal="s1"),
    )
    assert "shop.a, shop[.]o.*" in sentence


def test_signal_without_collections_starts_no_snapshot() -> None:
    progress, sentence = accepted(
        SnapshotProgress(), signal("execute-snapshot", data_collections=[])
    )
    assert progress.is_idle
    assert "no snapshot starts" in sentence


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (signal("execute-snapshot"), "`data-collections` must list"),
        (signal("execute-snapshot", data_collections="shop.a"), "must be a list"),
        (signal("execute-snapshot", data_collections=[1]), "must be a list"),
        (signal("execute-snapshot", data_collections=["shop.(a"]), "is not a regular expression"),
        (signal("execute-snapshot", data_collections=["crm.a"]), "does not capture crm.a"),
        (signal("execute-snapshot", data_collections=["shop.a"], type="full"), "is 'full'"),
        (signal("execute-snapshot", data_collections=["shop.a"], type=None), "is None"),
        (
            signal("execute-snapshot", data_collections=["shop.a"], filter="x"),
            "`data` has unknown fields `filter`",
        ),
        (
            signal("execute-snapshot", data_collections=["shop.a"], additional_conditions={}),
            "must be a list",
        ),
        (
            signal("execute-snapshot", data_collections=["shop.a"], additional_conditions=["x"]),
            "must be an object with",
        ),
        (signal("stop-snapshot"), "is None"),
        (signal("stop-snapshot", type="incremental", data_collections=["(a"]), "not a regular"),
        (signal("pause-snapshot", type="now"), "is 'now'"),
        (signal("log"), "`message` must be a string"),
        (signal("restart"), "The type 'restart' is unknown"),
        (parse_signal({}, "test"), "The type 'None' is unknown"),
        (
            parse_signal({"type": "execute-snapshot", "data": "{"}, "test"),
            "`data` has unknown fields `data`",
        ),
        (
            parse_signal({"type": "execute-snapshot", "data": [1]}, "test"),
            "`data` has unknown fields `data`",
        ),
    ],
)
def test_invalid_signals_are_rejected_with_a_reason(asked: Signal, said: str) -> None:
    before = copying("a")
    progress, answer = apply_signal(before, asked, SHOP)
    assert progress == before
    assert not answer.is_accepted
    assert said in answer.message
    assert answer.message.endswith(".")


@pytest.mark.parametrize("query", ["{", '"text"', "[1]", '{"a": {"$oid": 1}}', {"a": {"$oid": 1}}])
def test_invalid_filter_is_rejected(query: Any) -> None:
    conditions = [{"data-collection": "shop.a", "filter": query}]
    asked = signal(
        "execute-snapshot", data_collections=["shop.a"], additional_conditions=conditions
    )
    progress, answer = apply_signal(SnapshotProgress(), asked, SHOP)
    assert progress.is_idle
    assert "The filter of shop.a is invalid" in answer.message


@pytest.mark.parametrize("query", ['{"n": {"$gt": 3}}', {"n": {"$gt": 3}}])
def test_conditions_apply_only_to_matching_collections(query: Any) -> None:
    conditions = [{"data-collection": "shop.orders_2.*", "filter": query}]
    asked = signal(
        "execute-snapshot",
        data_collections=["shop.orders_2024", "shop.a"],
        additional_conditions=conditions,
    )
    progress, _ = accepted(SnapshotProgress(), asked)
    selected = select_collections(progress.requests[0], FOUND, SHOP, SnapshotSettings())
    assert [(each.namespace, getattr(each, "filter", "")) for each in selected] == [
        ("shop.orders_2024", '{"n": {"$gt": 3}}'),
        ("shop.a", None),
    ]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("shop.a", ["a"]),
        ("shop.A", ["A"]),
        ("SHOP.a", ["a", "A"]),
        ("shop[.]a", ["a", "A"]),
        ("shop.ab", ["ab"]),
        ('"shop"."a.b"', ["a.b"]),
        ('shop."a.b"', ["a.b"]),
        ('"shop".a', ["a", "A"]),
        ('"shop".orders_.*', ["orders_2024", "orders_2025"]),
        ("orders_2024", []),
        ("shop", []),
        (".*", [each.name for each in FOUND]),
    ],
)
def test_collection_names_and_expressions_match(name: str, meant: list[str]) -> None:
    assert [each.name for each in matching_collections(name, FOUND)] == meant


def test_collections_without_change_events_are_skipped_with_a_reason() -> None:
    request = SnapshotRequest(SnapshotReason.SIGNAL, ("shop[.](ab|prices|seen)",))
    selected = select_collections(request, FOUND, SHOP, SnapshotSettings())
    capped, prices, seen = selected
    assert isinstance(capped, CollectionSnapshot)
    assert (capped.collection, capped.is_plain) == ("ab", True)
    assert [each.namespace for each in (prices, seen)] == ["shop.prices", "shop.seen"]
    assert "change streams do not report" in str(getattr(prices, "note", None))
    assert "a view" in str(getattr(seen, "note", None))


def test_stop_signal_stops_snapshots_by_name() -> None:
    asked = signal("stop-snapshot", type="incremental", data_collections=["shop.orders.*"])
    progress, sentence = accepted(copying("a", "orders_2024", "orders_2025"), asked)
    assert [each.collection for each in progress.collections] == ["a"]
    assert sentence == "The snapshot of shop.orders_2024, shop.orders_2025 is stopped."
    assert accepted(progress, asked)[1] == "No snapshot of these collections is running."


def test_stop_signal_applies_before_collections_are_resolved() -> None:
    asked = signal("execute-snapshot", data_collections=["shop[.]orders.*"])
    progress, _ = accepted(SnapshotProgress(), asked)
    stop = signal("stop-snapshot", type="incremental", data_collections=["shop.orders_2024"])
    progress, _ = accepted(progress, stop)
    selected = select_collections(progress.requests[0], FOUND, SHOP, SnapshotSettings())
    assert [each.namespace for each in selected] == ["shop.orders_2025"]


def test_stop_signal_without_names_stops_all_snapshots() -> None:
    asked = signal("execute-snapshot", data_collections=["shop.a"])
    progress, _ = accepted(copying("a", "ab"), asked)
    progress, _ = accepted(progress, signal("stop-snapshot", type="incremental"))
    assert progress.is_idle
    again, _ = accepted(progress, asked)
    assert not again.is_idle


def test_snapshots_are_paused_and_resumed() -> None:
    progress, sentence = accepted(copying("a"), signal("pause-snapshot"))
    assert progress.is_paused
    assert "the stream continues" in sentence
    assert accepted(progress, signal("pause-snapshot"))[1] == "Snapshots are already paused."
    _, sentence = accepted(progress, signal("execute-snapshot", data_collections=["shop.a"]))
    assert "send `resume-snapshot` to resume" in sentence
    progress, _ = accepted(progress, signal("resume-snapshot"))
    assert not progress.is_paused
    assert accepted(progress, signal("resume-snapshot"))[1] == "Snapshots are not paused."


def test_log_signal_logs_its_message() -> None:
    assert accepted(SnapshotProgress(), signal("log", message="hello"))[1] == "hello"


def test_repeated_signal_is_applied_once() -> None:
    """For example after a restart of the stream at an earlier position."""
    data = {"data-collections": ["shop.a"]}
    document = {"_id": 1, "type": "execute-snapshot", "data": data}
    asked = replace(parse_signal(document, "source"), occurrence="token")
    progress, _ = accepted(SnapshotProgress(), asked)
    assert accepted(progress, asked) == (progress, "The agent has already processed this signal.")
    other = replace(parse_signal(document, "source"), occurrence="another")
    assert len(accepted(progress, other)[0].requests) == 2

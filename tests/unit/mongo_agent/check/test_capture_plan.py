"""The plan for each collection, and the property that decides it."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mongo_agent.capture.namespaces import Namespaces
from mongo_agent.check.capture_plan import plan_of
from mongo_agent.server.catalogue import CollectionInfo, CollectionKind, collection_info
from tests.support.mongodb.properties import Settings, load

ORDERS = CollectionInfo("shop", "orders", CollectionKind.PLAIN)


@pytest.mark.parametrize(
    ("entry", "kind", "has_images"),
    [
        ({"name": "orders", "type": "collection", "options": {}}, CollectionKind.PLAIN, False),
        (
            {"name": "log", "type": "collection", "options": {"capped": True}},
            CollectionKind.CAPPED,
            False,
        ),
        (
            {"name": "v", "type": "view", "options": {"viewOn": "orders"}},
            CollectionKind.VIEW,
            False,
        ),
        ({"name": "t", "type": "timeseries", "options": {}}, CollectionKind.TIME_SERIES, False),
        ({"name": "system.buckets.t", "type": "collection"}, CollectionKind.SYSTEM, False),
        (
            {"name": "o", "options": {"changeStreamPreAndPostImages": {"enabled": True}}},
            CollectionKind.PLAIN,
            True,
        ),
    ],
)
def test_collection_kind_is_recognized(
    entry: dict[str, object], kind: CollectionKind, has_images: bool
) -> None:
    found = collection_info("shop", entry)
    assert (found.kind, found.has_images) == (kind, has_images)


@pytest.mark.parametrize(
    ("changes", "captured", "copied", "reason"),
    [
        ({}, True, True, "no list excludes it"),
        ({"database.include.list": "crm,SHOP"}, True, True, "database.include.list: SHOP"),
        ({"database.include.list": "crm"}, False, False, "not in database.include.list"),
        ({"database.exclude.list": "s.*"}, False, False, "database.exclude.list: s.*"),
        (
            {"collection.include.list": "a.b,shop[.]o.*"},
            True,
            True,
            "collection.include.list: shop[.]o.*",
        ),
        ({"collection.include.list": "shop[.]o"}, False, False, "not in collection.include.list"),
        (
            {"collection.exclude.list": "shop[.].*"},
            False,
            False,
            "collection.exclude.list: shop[.].*",
        ),
        ({"snapshot.mode": "never"}, True, False, "no list excludes it"),
        ({"snapshot.include.collection.list": "a.b"}, True, False, "no list excludes it"),
    ],
)
def test_plan_reports_deciding_pattern(
    tmp_path: Path, changes: Settings, captured: bool, copied: bool, reason: str
) -> None:
    found = plan_of(ORDERS, load(tmp_path, changes))
    assert (found.is_captured, found.is_in_snapshot, found.reason) == (captured, copied, reason)
    assert bool(found.snapshot_reason) is (captured and not copied)


@pytest.mark.parametrize(
    "kind", [CollectionKind.VIEW, CollectionKind.TIME_SERIES, CollectionKind.SYSTEM]
)
def test_collections_without_events_are_not_captured(tmp_path: Path, kind: CollectionKind) -> None:
    found = plan_of(CollectionInfo("shop", "v", kind), load(tmp_path))
    assert not found.is_captured
    assert not found.is_in_snapshot
    assert found.reason


NAMES = st.sampled_from(["a", "ab", "b"])
DATABASE_PATTERNS = st.lists(st.sampled_from(["a", "a.*", "b", ".b"]), max_size=2).map(tuple)
PATTERNS = st.lists(
    st.sampled_from(["a.a", "a[.].*", ".*b", "ab\\..{1,2}", "b.ab"]), max_size=2
).map(tuple)
LISTS = st.one_of(
    st.builds(Namespaces, DATABASE_PATTERNS, st.just(()), PATTERNS, st.just(())),
    st.builds(Namespaces, st.just(()), DATABASE_PATTERNS, st.just(()), PATTERNS),
    st.builds(Namespaces, DATABASE_PATTERNS, st.just(()), st.just(()), PATTERNS),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(lists=LISTS, database=NAMES, name=NAMES)
def test_plan_matches_agent(tmp_path: Path, lists: Namespaces, database: str, name: str) -> None:
    def text(patterns: tuple[str, ...]) -> str:
        return ",".join(patterns).replace("\\", "\\\\")

    config = load(
        tmp_path,
        {
            "database.include.list": text(lists.include_databases),
            "database.exclude.list": text(lists.exclude_databases),
            "collection.include.list": text(lists.include_collections),
            "collection.exclude.list": text(lists.exclude_collections),
        },
    )
    assert config.namespaces == lists
    found = plan_of(CollectionInfo(database, name, CollectionKind.PLAIN), config)
    assert found.is_captured == lists.captures(database, name)
    assert found.reason

"""Findings on releases, collections and images, with their levels."""

from dataclasses import replace
from pathlib import Path

import pytest

from mongo_agent.check.collections import check_collections
from mongo_agent.check.server import check_deployment
from mongo_agent.check.server_features import check_features
from mongo_agent.server.catalogue import CollectionInfo, CollectionKind
from mongo_agent.server.deployment import Deployment
from mongo_agent.server.releases import large_events_of
from sidecar.check.check import Level
from tests.support.mongodb.findings import texts
from tests.support.mongodb.properties import Settings, load

PRE_IMAGES = {"capture.mode": "change_streams_with_pre_image"}
POST_IMAGES = {"capture.mode.full.update.type": "post_image"}


def test_current_release_supports_every_feature(tmp_path: Path) -> None:
    config = load(tmp_path, {**PRE_IMAGES, **POST_IMAGES, "topic.schema.changes": "ddl"})
    for version in ((7, 0, 14), (8, 2, 11), (9, 0, 2)):
        assert list(check_features(config, version, config.stream)) == []


@pytest.mark.parametrize(
    ("version", "changes", "level", "part"),
    [
        ((6, 0, 8), {}, Level.WARNING, "cannot split events"),
        ((6, 0, 9), PRE_IMAGES, Level.FAULT, "compatibility version below 6.0 has no pre-"),
        ((5, 0, 1), PRE_IMAGES, Level.FAULT, "`capture.mode` requires"),
        ((5, 0, 1), POST_IMAGES, Level.FAULT, "`capture.mode.full.update.type` requires"),
        ((5, 0, 1), {"topic.schema.changes": "d"}, Level.WARNING, "`topic.schema.changes`"),
        ((4, 4, 0), {}, Level.WARNING, "does not support reads at a cluster time"),
        ((9, 0, 1), {}, Level.WARNING, "in a way that MongoDB 9.0.2 switched off"),
    ],
)
def test_check_reports_features_missing_or_withdrawn(
    tmp_path: Path, version: tuple[int, ...], changes: Settings, level: Level, part: str
) -> None:
    config = load(tmp_path, changes)
    options = replace(
        config.stream,
        shows_expanded_events=False,
        is_restricted=version == (6, 0, 9),
        large_events=large_events_of(version),
    )
    assert part in texts(check_features(config, version, options), level)


@pytest.mark.parametrize("version", [(3, 6, 23), (4, 0, 28)])
def test_release_with_other_token_format_is_fault(tmp_path: Path, version: tuple[int, ...]) -> None:
    """MongoDB 3.6 and 4.0 encode tokens as binary, and a dropped collection leaves a gap."""
    deployment = Deployment("rs0", "rs0", version)
    sentence = texts(check_deployment(load(tmp_path), deployment), Level.FAULT)
    assert "its resume tokens have a different format. Use MongoDB 4.2 or later." in sentence
    assert list(check_deployment(load(tmp_path), Deployment("rs0", "rs0", (4, 2, 0)))) == []


@pytest.mark.parametrize(
    ("action", "level"), [("warn", Level.WARNING), ("fail", Level.FAULT), ("FAIL", Level.FAULT)]
)
def test_too_many_collections_are_reported(tmp_path: Path, action: str, level: Level) -> None:
    found = [CollectionInfo("shop", name, CollectionKind.PLAIN) for name in ("a", "b", "c")]
    limited = {"guardrail.collections.max": "2", "guardrail.collections.limit.action": action}
    said = texts(check_collections(load(tmp_path, limited), found), level)
    assert "The agent captures 3 collections; `guardrail.collections.max=2` allows fewer" in said
    narrow = load(tmp_path, {**limited, "collection.exclude.list": "shop[.]c"})
    assert texts(check_collections(narrow, found), level) == ""


def test_missing_images_are_reported(tmp_path: Path) -> None:
    kept = CollectionInfo("shop", "orders", CollectionKind.PLAIN, has_images=True)
    lost = CollectionInfo("shop", "people", CollectionKind.PLAIN)
    config = load(tmp_path, PRE_IMAGES)
    assert "stores images" in texts(check_collections(config, [kept]), Level.OK)
    some = texts(check_collections(config, [kept, lost]), Level.WARNING)
    assert "`before` will be null for 1 of 2" in some
    assert '{"collMod": "people", "changeStreamPreAndPostImages": {"enabled": true}}' in some
    assert 'db.getSiblingDB("shop")' in some
    assert "1 of 1" in texts(check_collections(config, [lost]), Level.FAULT)
    assert "images" not in {each.subject for each in check_collections(load(tmp_path), [lost])}


def test_views_and_time_series_are_reported_with_their_reason(tmp_path: Path) -> None:
    listed = [
        CollectionInfo("shop", "orders"),
        CollectionInfo("shop", "recent", CollectionKind.VIEW),
        CollectionInfo("shop", "heat", CollectionKind.TIME_SERIES),
        CollectionInfo("crm", "all", CollectionKind.VIEW),
    ]
    config = load(tmp_path, {"database.include.list": "shop"})
    said = texts(check_collections(config, listed), Level.OK)
    assert "The agent does not capture shop.recent: a view has no changes." in said
    assert "shop.heat: MongoDB has no change events for time series." in said
    assert "crm.all" not in said


def test_collection_counts_are_reported(tmp_path: Path) -> None:
    config = load(tmp_path, {"database.include.list": "shop"})
    capped = CollectionInfo("shop", "log", CollectionKind.CAPPED)
    system = CollectionInfo("shop", "system.views", CollectionKind.SYSTEM)
    other = CollectionInfo("crm", "people", CollectionKind.PLAIN)
    said = texts(check_collections(config, [capped, system, other]), Level.OK)
    assert "The agent captures 1 of 2 collections and snapshots 1: shop.log." in said
    assert "Capped collections cannot be read at a cluster time: shop.log" in said
    assert "captures none of the existing collections (1)" in texts(
        check_collections(config, [other]), Level.FAULT
    )
    assert "captures none of the existing collections (0)" in texts(
        check_collections(config, []), Level.WARNING
    )

"""The topics of collections with arbitrary names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mongo_agent.check import capture_plan, topic_names
from mongo_agent.check.topic_names import require_separate_topics, shared_topic_warnings, topic_uses
from mongo_agent.config.loading import MongoConfig
from mongo_agent.server.catalogue import CollectionInfo
from sidecar.check.topic_names import colliding_topics
from sidecar.errors import ConfigError
from tests.support.mongodb.properties import load

NAMES = st.text(min_size=1, max_size=6) | st.text("a_.@ ", min_size=1, max_size=3)
COLLECTIONS = st.sets(NAMES, min_size=1, max_size=6)
KAFKA = {"sink": "kafka", "kafka.producer.bootstrap.servers": "127.0.0.1:9"}


@pytest.fixture(scope="module")
def default(tmp_path_factory: pytest.TempPathFactory) -> MongoConfig:
    return load(tmp_path_factory.mktemp("agent"), KAFKA)


@pytest.fixture(scope="module")
def unicode(tmp_path_factory: pytest.TempPathFactory) -> MongoConfig:
    strategy = {"topic.naming.strategy": "DefaultUnicodeTopicNamingStrategy"}
    return load(tmp_path_factory.mktemp("agent"), {**KAFKA, **strategy})


def listed(names: set[str]) -> list[CollectionInfo]:
    return [CollectionInfo("shop", name) for name in sorted(names)]


@given(COLLECTIONS)
def test_collections_with_shared_topic_are_reported(
    default: MongoConfig, unicode: MongoConfig, names: set[str]
) -> None:
    captured = [each for each in listed(names) if not each.name.startswith("system.")]
    topics = [use.topic for use in topic_uses(default, captured)]
    warnings = shared_topic_warnings(default, captured)
    assert bool(warnings) == (len(set(topics)) < len(topics))
    for warning in warnings:
        assert "topic.naming.strategy=DefaultUnicodeTopicNamingStrategy" in warning


@given(st.sets(st.text("aä_.@ ", min_size=1, max_size=4), min_size=2, max_size=6))
def test_suggested_naming_strategy_separates_topics(unicode: MongoConfig, names: set[str]) -> None:
    uses = topic_uses(unicode, listed(names))
    assert shared_topic_warnings(unicode, listed(names)) == []
    assert colliding_topics(uses, []) == []


def test_compacted_shared_topic_prevents_start(
    default: MongoConfig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    compacted: list[str] = []
    monkeypatch.setattr(topic_names, "compacted_topics", lambda *_, **__: compacted)
    monkeypatch.setattr(capture_plan, "list_collections", lambda *_: listed({"x y", "x_y", "z"}))
    require_separate_topics(None, default)  # type: ignore[arg-type]
    (record,) = caplog.records
    (topic,) = {default.topic_of("shop", name) for name in ("x y", "x_y")}
    assert f"{topic} (shop.x y, shop.x_y)" in record.getMessage()
    compacted.append(topic)
    with pytest.raises(ConfigError, match="retains only one of the messages with equal keys"):
        require_separate_topics(None, default)  # type: ignore[arg-type]

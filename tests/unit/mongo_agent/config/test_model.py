"""The topics of the agent's own messages."""

from pathlib import Path

from tests.support.mongodb.properties import load


def test_own_topics_follow_enabled_features(tmp_path: Path) -> None:
    assert list(load(tmp_path).properties.own_topics()) == []
    everything = {
        "provide.transaction.metadata": "true",
        "heartbeat.interval.ms": "1000",
        "topic.schema.changes": "ddl",
        "sink": "kafka",
        "kafka.producer.bootstrap.servers": "h:9092",
        "position.store": "kafka",
    }
    own = load(tmp_path, everything).properties.own_topics()
    assert [topic for _, topic in own] == [
        "t.transaction",
        "__debezium-heartbeat.t",
        "ddl",
        "t.position",
    ]

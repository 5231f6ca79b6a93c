"""The topics that a check looks for besides those of collections."""

from pathlib import Path

from mongo_agent.check.probe import own_topics
from tests.support.mongo_properties import load


def test_topics_of_the_agent_itself(tmp_path: Path) -> None:
    assert list(own_topics(load(tmp_path))) == []
    everything = {
        "provide.transaction.metadata": "true",
        "heartbeat.interval.ms": "1000",
        "topic.schema.changes": "ddl",
        "sink": "kafka",
        "kafka.producer.bootstrap.servers": "h:9092",
        "position.store": "kafka",
    }
    assert list(own_topics(load(tmp_path, everything))) == [
        "t.transaction",
        "__debezium-heartbeat.t",
        "ddl",
        "t.position",
    ]

"""The topics that a check looks for are those that events go to."""

from pathlib import Path

import bson
import pytest

from commitlog.mongo import MongoEncoder
from mongo_agent.check.survey import own_topics, topic_of
from tests.mongo_agent.config.properties import load


@pytest.mark.parametrize("name", ["orders", "a.b", "größe", "a b$c", "\N{BACTRIAN CAMEL}s"])
@pytest.mark.parametrize("delimiter", [".", "-"])
def test_topics_are_named_as_the_encoder_names_them(
    tmp_path: Path, name: str, delimiter: str
) -> None:
    properties = load(tmp_path, {"topic.delimiter": delimiter}).properties
    encoder = MongoEncoder(
        topic_prefix="t", replica_set="rs0", node_id="n", topic_delimiter=delimiter
    )
    batch = encoder.encode_copied(
        [bson.encode({"_id": 1})],
        database="shop",
        collection=name,
        cluster_time=(1, 1),
        read_at_ms=0,
        snapshot="true",
    )
    ((topic, *_),) = batch.messages(0, 1)
    assert topic_of(properties, "shop", name) == topic


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

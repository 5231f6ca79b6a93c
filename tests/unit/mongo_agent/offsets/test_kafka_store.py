"""Where the agent resumes after its sink, which stores the position, was closed midway."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from mongo_agent.change_stream.position import StreamPosition
from mongo_agent.config.loading import load_config
from mongo_agent.documents import ClusterTime
from mongo_agent.offsets import OFFSET_FILE, AgentOffsets, StreamOffset
from mongo_agent.offsets.agent_offsets import parse_offsets
from mongo_agent.offsets.kafka_store import KafkaOffsets, fall_back_to_file, position_records
from mongo_agent.server.deployment import Deployment
from mongo_agent.snapshot.progress import SnapshotProgress
from mongo_agent.snapshot.records import SnapshotReason, SnapshotRequest
from sidecar.offsets.position_store import all_values
from sidecar.offsets.properties_store import PropertiesStore, StoredOffsets


def at(second: int) -> StreamOffset:
    stream = StreamPosition({}, ClusterTime(second, 1), "f", "rs0")
    return StreamOffset(stream, None, SnapshotProgress())


def both(deployment: int, orders: int) -> AgentOffsets:
    return AgentOffsets({"": at(deployment), "shop.orders": at(orders)})


class Topic:
    """A store with a settable position."""

    def __init__(self, position: AgentOffsets) -> None:
        self.position = position

    def load(self) -> StoredOffsets:
        return StoredOffsets(self.position.values())

    def save(self, values: Mapping[str, str], /) -> None:
        raise AssertionError("the sink stores")


def test_commit_with_lost_reply_counts() -> None:
    topic = Topic(both(1, 1))
    stored = KafkaOffsets(topic, topic.load(), "rs0")
    topic.position = both(5, 3)
    assert stored.reload(both(4, 3)) == both(5, 3)
    topic.position = both(7, 3)
    assert stored.reload(both(6, 3)) == both(7, 3)


def test_uncommitted_new_entries_remain_after_reload() -> None:
    topic = Topic(both(1, 1))
    stored = KafkaOffsets(topic, topic.load(), "rs0")
    due = replace(
        at(1), snapshot=SnapshotProgress().requested(SnapshotRequest(SnapshotReason.INITIAL))
    )
    assert stored.reload(both(1, 1).moved("", due)) == both(1, 1).moved("", due)


def test_reload_omits_streams_no_longer_read() -> None:
    topic = Topic(AgentOffsets())
    stored = KafkaOffsets(topic, topic.load(), "rs0")
    topic.position = both(5, 3)
    assert stored.reload(AgentOffsets({"": at(1)})) == AgentOffsets({"": at(5)})


@pytest.mark.parametrize(
    ("prefix", "cluster", "is_used"), [("p", "rs0", True), ("q", "rs0", False), ("p", "rs1", False)]
)
def test_file_offsets_apply_while_topic_is_empty(
    tmp_path: Path, prefix: str, cluster: str, is_used: bool
) -> None:
    values = AgentOffsets({"": at(3)}).values()
    PropertiesStore(tmp_path, OFFSET_FILE, prefix).save(values)
    named = ("topic.prefix=p", "mongodb.hosts=rs0/localhost:1", "position.store=kafka")
    broker = "kafka.producer.bootstrap.servers=localhost:1"
    directory = f"offset.backing.store.dir={tmp_path}"
    config = load_config([], [*named, broker, directory], environment={})
    deployment = Deployment(cluster, cluster, (7, 0, 0))
    found = fall_back_to_file(StoredOffsets({}), config, deployment)
    assert found.values == (values if is_used else {})
    of_topic = StoredOffsets(AgentOffsets({"": at(4)}).values())
    assert fall_back_to_file(of_topic, config, deployment) == of_topic


@pytest.mark.parametrize(
    ("deployment", "name"),
    [
        (Deployment("rs0", "rs0", (7, 0, 0)), "p"),
        (Deployment("shard1", "shard1", (7, 0, 0), is_shard=True), "p.shard1"),
    ],
)
def test_agents_of_shards_have_separate_positions(
    tmp_path: Path, deployment: Deployment, name: str
) -> None:
    properties = {
        "topic.prefix": "p",
        "mongodb.hosts": "rs0/localhost:1",
        "kafka.producer.bootstrap.servers": "localhost:1",
        "offset.backing.store.dir": str(tmp_path),
    }
    overrides = [f"{name}={value}" for name, value in properties.items()]
    assert position_records(load_config([], overrides, environment={}), deployment) is None
    config = load_config([], [*overrides, "position.store=kafka"], environment={})
    records = position_records(config, deployment)
    assert records is not None
    assert (records.topic, records.name) == ("p.position", name)
    position = both(2, 3)
    values = {stream: records.values(stream, each) for stream, each in position.streams.items()}
    assert parse_offsets(all_values(values), "rs0") == position

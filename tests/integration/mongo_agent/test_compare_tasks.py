"""`compare` with one task per shard, each with its own position in Kafka."""

from pathlib import Path
from typing import Any

import pytest

from mongo_agent.check.connection_diagnostics import connect
from mongo_agent.compare.comparison import ComparedCollection
from mongo_agent.compare.topic_comparison import compare
from mongo_agent.service import create_service
from sidecar.errors import ConfigError
from tests.support.mongodb.agent_process import ticking
from tests.support.mongodb.running_agent import RunningAgent
from tests.support.mongodb.server import MongoShardedCluster
from tests.support.mongodb.server.client import Client
from tests.support.servers.kafka import KafkaBroker

pytestmark = pytest.mark.servers

DOCUMENTS = 40


def task(folder: Path, address: str, number: int, **properties: Any) -> RunningAgent:
    values = {
        "mongodb.connection.mode": "replica_set",
        "tasks.max": 2,
        "task.id": number,
        "sink": "kafka",
        "topic.creation.enable": "true",
    }
    return RunningAgent(folder / f"task{number}", address, values, **properties)


def compared(agent: RunningAgent) -> list[ComparedCollection]:
    config = agent.configuration()
    with connect(config) as (client, deployment):
        return compare(client, config, deployment, (), wait_s=60)


def test_compare_covers_all_shards(
    tmp_path: Path,
    cluster: MongoShardedCluster,
    router: Client,
    broker: KafkaBroker,
    topic_prefix: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # More than one batch per collection: the driver decodes further batches elsewhere.
    monkeypatch.setattr("mongo_agent.compare.topic_comparison._DOCUMENTS", DOCUMENTS // 3)
    kafka = {
        "topic_prefix": topic_prefix,
        "position_store": "kafka",
        "position_commit_interval_ms": 20,
        "kafka_producer_bootstrap_servers": broker.bootstrap,
    }
    first, second = (
        task(tmp_path, cluster.connection_string, number, **kafka) for number in range(2)
    )
    for agent in (first, second):
        agent.service = create_service(agent.configuration())
    with first, second:
        for agent in (first, second):
            agent.wait_until_streaming()
        router.shop.orders.insert_many(
            [{"_id": number, "region": number} for number in range(DOCUMENTS)]
        )
        with ticking(cluster.shards[0].write_noop):
            (found,) = compared(second)
    assert (found.documents, found.equal) == (DOCUMENTS, DOCUMENTS)
    assert found.is_equal


@pytest.mark.parametrize(
    ("seeds", "store", "sentence"),
    [("mongos", "file", "`position.store=kafka`"), ("config servers", "kafka", "Name a mongos")],
)
def test_unsupported_shard_comparison_is_a_config_error(
    tmp_path: Path, cluster: MongoShardedCluster, seeds: str, store: str, sentence: str
) -> None:
    address = (cluster if seeds == "mongos" else cluster.config_server).connection_string
    brokers = {"kafka_producer_bootstrap_servers": "127.0.0.1:1"}
    with pytest.raises(ConfigError, match=sentence):
        compared(task(tmp_path, address, 0, position_store=store, **brokers))

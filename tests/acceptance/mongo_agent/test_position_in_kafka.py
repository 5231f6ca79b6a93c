"""An offset in Kafka, read while its agent runs."""

from pathlib import Path

import pytest

from mongo_agent.change_stream.position import StreamPosition
from mongo_agent.config.loading import load_config
from mongo_agent.documents import ClusterTime
from mongo_agent.offsets import StreamOffset
from mongo_agent.offsets.kafka_store import position_records
from mongo_agent.pipeline.batches import OwnMessages
from mongo_agent.server.deployment import Deployment
from mongo_agent.snapshot.progress import SnapshotProgress
from sidecar.delivery.sink_registry import create_transactional_sink
from sidecar.events import NumberedBatch
from tests.support.mongodb.agent_command import CDC, configuration, mongo_agent
from tests.support.servers.kafka import KafkaBroker


@pytest.mark.servers
def test_reading_the_kafka_offset_does_not_fence_its_agent(
    tmp_path: Path, hosts: str, broker: KafkaBroker
) -> None:
    path = configuration(
        tmp_path,
        hosts,
        CDC,
        {
            "sink": "kafka",
            "kafka.producer.bootstrap.servers": broker.bootstrap,
            "topic.creation.enable": "true",
            "position.store": "kafka",
            "standby.enabled": "true",
        },
    )
    none = mongo_agent("offsets", "show", "--config", path)
    assert none.output == "No offsets are stored; the agent starts anew.\n", none.errors
    config = load_config([path])
    records = position_records(config, Deployment("rs0", "rs0", (7, 0, 14)))
    assert records is not None
    sink = create_transactional_sink(config.properties, records, 250)
    try:
        sink.load()
        for number, second in enumerate((1_700_000_000, 1_700_000_001)):
            stream = StreamPosition({}, ClusterTime(second, 3), "0" * 16, "rs0")
            reached = StreamOffset(stream, None, SnapshotProgress())
            sink.send(NumberedBatch("", OwnMessages((), reached), number), 0, 0.0)
            sink.close(60)
            shown = mongo_agent("offsets", "show", "--config", path)
            assert f"the deployment  {second}:3  " in shown.output, shown.errors
            checked = mongo_agent("check", "--config", path)
            assert f"cluster times: the deployment {second}:3." in checked.output
            assert "may join the consumer group cdc-sidecar-" in checked.output
            # The readers did not fence the writer.
            assert sink.load().values["cluster.time"] == f"{second}:3"
    finally:
        sink.close(60)

"""The agent resumes where Debezium's connector ended, from the connector's stored offsets."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bson
import pytest
from confluent_kafka import Producer
from pymongo import MongoClient

from mongo_agent.cli.entry import main
from mongo_agent.migration import connect_offsets, read_file
from sidecar.errors import ConfigError
from sidecar.sinks.kafka.topics.reader import committed_records
from tests.oracle.debezium_mongodb.engines import EmbeddedEngines, PeerRecord
from tests.support.mongodb.running_agent import RunningAgent
from tests.support.mongodb.server import MongoReplicaSet
from tests.support.servers.kafka import KafkaBroker
from tests.support.servers.processes import wait_until

pytestmark = pytest.mark.servers

PREFIX = "p"
"""Prefix of both; that of `RunningAgent`."""
END = {"_id": "end"}


@pytest.fixture
def replica_set() -> Iterator[MongoReplicaSet]:
    with MongoReplicaSet(members=1) as started:
        yield started


def is_end(record: PeerRecord) -> bool:
    return record.key is not None and json.loads(json.loads(record.key)["id"]) == END["_id"]


def stored_by_debezium(directory: Path, replica_set: MongoReplicaSet, **settings: str) -> bytes:
    """Offset file after an insert of `END`, up to which the connector reads."""
    file = directory / "offsets.dat"
    with EmbeddedEngines(directory) as peer, MongoClient[Any](replica_set.connection_string) as c:
        c.shop.a.insert_one({"_id": "copied"})
        properties = {
            "offset.storage": "org.apache.kafka.connect.storage.FileOffsetBackingStore",
            "offset.storage.file.filename": str(file),
            "offset.flush.interval.ms": "10",
            **{name.replace("_", "."): value for name, value in settings.items()},
        }
        peer.start(PREFIX, replica_set.connection_string, properties)
        peer.records(PREFIX, lambda records: len(records) > 0)
        c.shop.a.insert_one({"_id": "before"})
        with c.start_session() as session, session.start_transaction():
            c.shop.a.insert_one({"_id": "together"}, session=session)
            c.shop.a.insert_one(END, session=session)
        # Both events of the transaction have one time, so only the token identifies the last one.
        with c.watch(start_at_operation_time=replica_set.cluster_time) as stream:
            tokens = [stream.next()["_id"] for _ in range(2)]
        end = base64.b64encode(bson.encode(tokens[-1])).decode()
        peer.records(PREFIX, lambda records: any(map(is_end, records)))

        stored: list[bytes] = []

        def is_stored() -> bool:
            content = file.read_bytes() if file.exists() else b""
            try:
                offsets = [each.offset for each in connect_offsets(read_file(content))]
            except ConfigError:
                # Debezium is about to write the file.
                return False
            stored.append(content)
            return any(each["resume_token"] == end for each in offsets)

        wait_until(is_stored, "Debezium's last offset")
        return stored[-1]


def run_command(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["--config", *arguments])
    return int(ended.value.code or 0)


def configured(directory: Path, replica_set: MongoReplicaSet, **properties: str) -> RunningAgent:
    named = {name.replace("_", "."): value for name, value in properties.items()}
    return RunningAgent(
        directory, replica_set.connection_string, {"snapshot.mode": "initial", **named}
    )


def test_agent_resumes_from_debezium_offsets(
    tmp_path: Path, replica_set: MongoReplicaSet, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "offsets.dat").write_bytes(stored_by_debezium(tmp_path / "peer", replica_set))
    directory = tmp_path / "agent"
    agent = configured(directory, replica_set)
    import_ = [
        str(directory / "mongo.properties"),
        "offsets",
        "import",
        "--from-file",
        str(tmp_path / "offsets.dat"),
    ]
    with MongoClient[Any](replica_set.connection_string) as client:
        client.shop.a.insert_one({"_id": "after"})
        assert run_command(*import_) == 0
        out = capsys.readouterr().out
        assert "Imported the offset of p: cluster time" in out
        assert f"The offset is stored in {directory}" in out
        with agent:
            client.shop.a.insert_one({"_id": "later"})
            published = agent.wait_for(2)
    assert [each.id for each in published] == ["after", "later"]
    assert run_command(*import_) == 2
    assert "Use --replace to overwrite it" in capsys.readouterr().err
    assert run_command(*import_, "--replace") == 0


@pytest.mark.slow
def test_debezium_offset_topic_is_imported(
    tmp_path: Path, replica_set: MongoReplicaSet, capsys: pytest.CaptureFixture[str]
) -> None:
    file = stored_by_debezium(tmp_path / "peer", replica_set)
    directory = tmp_path / "agent"
    with KafkaBroker(tmp_path / "kafka", heap_mib=256) as broker:
        settings = {"bootstrap.servers": broker.bootstrap}
        broker.create_topic("connect-offsets", 3, {"cleanup.policy": "compact"})
        producer = Producer({**settings, "log_level": 0})
        for key, value in read_file(file):
            producer.produce("connect-offsets", value, key, 1)
        producer.flush(60)
        configured(
            directory,
            replica_set,
            sink="kafka",
            position_store="kafka",
            topic_creation_enable="true",
            kafka_producer_bootstrap_servers=broker.bootstrap,
        )
        import_ = (str(directory / "mongo.properties"), "offsets", "import", "--from-topic")
        assert run_command(*import_, "connect-offsets") == 0
        assert "The offset is stored in the topic p.position." in capsys.readouterr().out
        (record,) = committed_records(settings, "p.position", 60)
        assert record.key == b"p"
        (offset,) = connect_offsets(read_file(file))
        time = json.loads(record.value or b"")[""]["cluster.time"]
        assert time == f"{offset.offset['sec']}:{offset.offset['ord']}"
        assert run_command(*import_, "nowhere") == 2
        assert "The topic nowhere does not exist." in capsys.readouterr().err

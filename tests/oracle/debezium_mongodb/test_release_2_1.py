"""Records of the layout `debezium-2.1` equal those of that release of the connector."""

from pathlib import Path
from random import Random
from typing import Any

import pytest
from pymongo import MongoClient

from mongo_agent.change_stream.options import StreamOptions
from mongo_agent.documents import ClusterTime
from tests.oracle.debezium_mongodb import ours
from tests.oracle.debezium_mongodb.comparison import compared
from tests.oracle.debezium_mongodb.engines import EmbeddedEngines, PeerRecord
from tests.oracle.debezium_mongodb.workload import NAMESPACES, Workload
from tests.support.mongodb.server import MongoReplicaSet
from tests.support.seeds import draw_seed

pytestmark = [pytest.mark.servers, pytest.mark.slow]

VERSION = "2.1.4.Final"
DOCUMENTS_BEFORE, STEPS = 12, 300


def test_records_equal_those_of_debezium_2_1(tmp_path: Path) -> None:
    seed = draw_seed()
    with (
        MongoReplicaSet(version="6.0.20") as replica_set,
        MongoClient[Any](replica_set.connection_string) as client,
        EmbeddedEngines(tmp_path, version=VERSION) as engines,
    ):
        workload = Workload(client, Random(seed))
        workload.prepare(DOCUMENTS_BEFORE)
        # With a connection string this release may query the members before it knows any.
        properties = {
            "mongodb.connection.string": "",
            "mongodb.hosts": f"{replica_set.name}/{replica_set.primary}",
            "capture.mode": "change_streams_with_pre_image",
            "snapshot.mode": "initial",
            "provide.transaction.metadata": "true",
        }
        engines.start("old", replica_set.connection_string, properties)
        count = sum(client[database][name].count_documents({}) for database, name in NAMESPACES)
        engines.records("old", lambda records: len(records) >= count)
        started_at = workload.write_until_heard()
        workload.run(STEPS)
        workload.end()
        theirs = engines.records("old", lambda records: records[-1].topic.endswith(".peer.end"))
        at = ClusterTime(started_at.time, started_at.inc)
        events = ours.events_since(at, client, StreamOptions("default", "whenAvailable"))
        found = ours.streamed(
            events, "old", layout="debezium-2.1", transaction_topic="old.transaction"
        )
        for their, our in zip(without_repeats(theirs[count:]), found, strict=True):
            assert without_times(compared(our)) == without_times(compared(their))


def without_repeats(records: list[PeerRecord]) -> list[PeerRecord]:
    """This release repeats the end of a transaction before events outside a transaction."""
    found: list[PeerRecord] = []
    ended = set()
    for record in records:
        is_end = record.topic == "old.transaction" and b'"status":"END"' in (record.value or b"")
        if not is_end or record.key not in ended:
            found.append(record)
        if is_end:
            ended.add(record.key)
    return found


def without_times(comparable: tuple[str, bytes | None, Any]) -> tuple[str, bytes | None, Any]:
    """This release writes whole seconds of the cluster time; the agent writes the wall time."""
    topic, key, value = comparable
    for times in (value, (value or {}).get("source")):
        if times is not None:
            times.pop("ts_ms", None)
    return topic, key, value

"""What the MongoDB agent publishes of a random workload gives the collections, in any order of its
records and with repeats."""

import secrets
from pathlib import Path
from random import Random
from typing import Any

from bson import json_util
from pymongo import MongoClient
from pyspark.sql import SparkSession

from spark_jobs.mongo_reconcile.changes import changes
from spark_jobs.mongo_reconcile.latest import latest
from tests.acceptance.mongo_kill.workload import DATABASE, Workload
from tests.support.mongodb.running_agent import RunningAgent
from tests.support.mongodb.server import MongoReplicaSet
from tests.support.spark.records import Record, frame

COLLECTIONS = ("customers", "orders")
PROPERTIES: dict[str, object] = {
    "snapshot.mode": "initial",
    "snapshot.max.threads": 2,
    "incremental.snapshot.chunk.size": 10,
    "database.include.list": DATABASE,
}


def test_the_agents_events_return_the_collections(spark: SparkSession, tmp_path: Path) -> None:
    seed = secrets.randbits(32)
    print(f"seed {seed}")
    random = Random(seed)
    with (
        MongoReplicaSet() as replica_set,
        MongoClient[dict[str, Any]](replica_set.connection_string) as client,
    ):
        workload = Workload(client, random, COLLECTIONS)
        workload.create()
        workload.fill(60)
        with RunningAgent(tmp_path, replica_set.connection_string, PROPERTIES) as agent:
            workload.write(120)
            agent.wait_until(
                lambda: agent.has_begun and not agent.is_snapshot_running, "the copies"
            )
            last = replica_set.write_noop()
            replica_set.write_noop()
            agent.wait_until_stored(last)
            messages = [message for _, message in agent.sink.messages]
    records = [
        Record(tuple(headers), value, key, topic, 0, offset)
        for offset, (topic, key, value, headers, _) in enumerate(messages)
    ]
    shuffled = random.sample(records * 2, 2 * len(records))
    rows = latest(changes(frame(spark, shuffled))).where("state = 'live'").collect()
    found = {
        (row.collection.partition(".")[2], json_util.dumps(json_util.loads(f"[{row.id}]")[0])): (
            json_util.loads(row.document)
        )
        for row in rows
    }
    there = {
        (place.collection, place.id_text): history.last
        for place, history in workload.histories.items()
        if history.last is not None
    }
    assert found == there

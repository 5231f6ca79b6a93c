"""The job with a checkpoint and a real broker."""

import json
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from bson import json_util
from pymongo import MongoClient
from pyspark.sql import SparkSession

from spark_jobs.errors import CheckpointError, InputError
from spark_jobs.mongo_reconcile.changes import changes
from spark_jobs.mongo_reconcile.document_table import DocumentTable, latest
from spark_jobs.mongo_reconcile.job import run, summary
from spark_jobs.mongo_reconcile.options import MongoJobOptions
from tests.acceptance.mongo_kill.workload import DATABASE, Workload
from tests.support.mongodb.running_agent import RunningAgent
from tests.support.mongodb.server import MongoReplicaSet
from tests.support.seeds import draw_seed
from tests.support.servers.kafka import KafkaBroker
from tests.support.spark.dedupe_stream import forget_last_commit
from tests.support.spark.mongo_topic import TOPIC, Collection, envelope, record
from tests.support.spark.options import dotted, options_of
from tests.support.spark.records import Record, frame, send


def job_options(folder: Path, **settings: str) -> MongoJobOptions:
    """Options by name, with `_` for the dots."""
    base = {
        "kafka.bootstrap.servers": "127.0.0.1:1",
        "topics": TOPIC,
        "checkpoint": str(folder / "checkpoint"),
        "table.path": str(folder / "table"),
    }
    return options_of(MongoJobOptions, {**base, **dotted(settings)})


def shop() -> Collection:
    collection = Collection()
    for number in range(4):
        collection.tick(is_new_second=True)
        collection.write(str(number), f'{{"n": {number}}}')
    collection.tick(is_new_second=True)
    collection.delete("0", has_tombstone=True)
    collection.write("1", '{"n": "new"}')
    return collection


@pytest.mark.servers
def test_repeated_batch_and_invalid_record_change_nothing(
    broker: KafkaBroker, topic_prefix: str, spark: SparkSession, tmp_path: Path
) -> None:
    """One run crashes between merge and commit; another ends at a record that is not a change."""
    collection = shop()

    def sent(*records: Record) -> None:
        send(broker, [replace(each, topic=topic_prefix) for each in records], partitions=2)

    options = job_options(
        tmp_path,
        kafka_bootstrap_servers=broker.bootstrap,
        topics=topic_prefix,
        metrics_json_file=str(tmp_path / "stats.json"),
        metrics_prometheus_file=str(tmp_path / "stats.prom"),
    )
    sent(*collection.records)
    read = run(spark, options)
    assert read == len(collection.records)
    assert json.loads((tmp_path / "stats.json").read_text()) == {"records": read}
    lines = (tmp_path / "stats.prom").read_text().splitlines()
    assert f"cdc_mongo_reconcile_records_total {read}.0" in lines
    assert 'cdc_spark_records_behind{spark_job="mongo-reconcile"} 0.0' in lines
    documents = DocumentTable(spark, options.table_path)
    before = documents.rows().orderBy("id").collect()
    live = {row.id: row.document for row in before if row.state == "live"}
    assert live == collection.documents
    assert summary(documents.counts()) == "shop.cust: 3 documents, 1 deletes remembered"

    forget_last_commit(Path(options.checkpoint))
    sent(record(0, "9", envelope("t", None, 5)))
    with pytest.raises(InputError, match=rf"{topic_prefix}/\d/\d+ is not a change of a document"):
        run(spark, options)
    assert json.loads((tmp_path / "stats.json").read_text()) == {"records": read}
    assert documents.rows().orderBy("id").collect() == before
    with pytest.raises(CheckpointError, match="order"):
        run(spark, options.model_copy(update={"order_by": "topic"}))


COLLECTIONS = ("customers", "orders")
PROPERTIES: dict[str, object] = {
    "snapshot.mode": "initial",
    "snapshot.max.threads": 2,
    "incremental.snapshot.chunk.size": 10,
    "database.include.list": DATABASE,
}


def test_events_of_the_agent_rebuild_the_collections(spark: SparkSession, tmp_path: Path) -> None:
    seed = draw_seed()
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

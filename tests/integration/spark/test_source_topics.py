"""A recreated topic and a compacted one, with real brokers and jobs."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition
from pyspark.sql import SparkSession

from spark_jobs.errors import CheckpointError, InputError, JobError
from spark_jobs.mongo_reconcile.job import run as run_mongo
from spark_jobs.mongo_reconcile.options import MongoJobOptions
from spark_jobs.reconcile.job import run as run_reconcile
from spark_jobs.reconcile.options import ReconcileOptions
from tests.support.servers.kafka import KafkaBroker
from tests.support.servers.processes import wait_until
from tests.support.spark.mongo_topic import envelope, record
from tests.support.spark.options import options_of
from tests.support.spark.records import Record, send

pytestmark = pytest.mark.servers


def records(topic: str, count: int) -> list[Record]:
    found = [record(at, str(at), envelope("c", "{}", at)) for at in range(count)]
    return [replace(each, topic=topic) for each in found]


def test_recreated_topic_stops_the_job(
    broker: KafkaBroker, topic_prefix: str, spark: SparkSession, tmp_path: Path
) -> None:
    """Also if the topic contains more records than the job read from the deleted one."""
    settings = {
        "kafka.bootstrap.servers": broker.bootstrap,
        "topics.pattern": f"{topic_prefix}.*",
        "table.path": str(tmp_path / "table"),
    }

    def run(checkpoint: str) -> int:
        folder = {"checkpoint": str(tmp_path / checkpoint)}
        return run_mongo(spark, options_of(MongoJobOptions, settings | folder))

    send(broker, records(topic_prefix, 4))
    assert run("a") == 4
    send(broker, records(topic_prefix, 2))
    assert run("a") == 2
    broker.admin().delete_topics([topic_prefix])[topic_prefix].result()
    wait_until(lambda: topic_prefix not in broker.topics(), "the deletion")
    send(broker, records(topic_prefix, 10))
    for _ in range(2):
        with pytest.raises(CheckpointError, match=f"created again: {topic_prefix} "):
            run("a")
    assert run("b") == 10


def test_printed_property_continues_after_deleted_records(
    broker: KafkaBroker, topic_prefix: str, spark: SparkSession, tmp_path: Path
) -> None:
    settings = {
        "kafka.bootstrap.servers": broker.bootstrap,
        "topics": topic_prefix,
        "table.path": str(tmp_path / "table"),
        "checkpoint": str(tmp_path / "checkpoint"),
    }

    def run(**more: str) -> int:
        return run_mongo(spark, options_of(MongoJobOptions, settings | more))

    send(broker, records(topic_prefix, 4))
    assert run() == 4
    send(broker, records(topic_prefix, 3))
    kept = TopicPartition(topic_prefix, 0, 6)
    broker.admin().delete_records([kept])[kept].result()
    # Either the driver or a task detects the loss.
    with pytest.raises(JobError, match=f"Kafka no longer has .*{topic_prefix}-0") as caught:
        run()
    (printed,) = re.findall(r"`(fail\.on[^`]*)`", str(caught.value))
    assert run(**dict([printed.split("=")])) == 1


def test_reconcile_rejects_a_compacted_topic(
    broker: KafkaBroker, topic_prefix: str, spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "schema.cql").write_text(
        "CREATE TABLE ks.t (k int PRIMARY KEY) WITH ID = 5a1c395e-b41f-11e5-9f22-ba0be0483c18;"
    )
    broker.create_topic(topic_prefix, 1, {"cleanup.policy": "compact"})
    settings = {
        "kafka.bootstrap.servers": broker.bootstrap,
        "topics": topic_prefix,
        "checkpoint": str(tmp_path / "checkpoint"),
        "output": str(tmp_path / "store"),
        "schema.file": str(tmp_path / "schema.cql"),
    }
    with pytest.raises(InputError, match=f"`cleanup.policy`: {topic_prefix}"):
        run_reconcile(spark, options_of(ReconcileOptions, settings))

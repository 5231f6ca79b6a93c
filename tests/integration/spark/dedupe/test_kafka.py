"""The job with a real broker, real sinks and recorded events of real nodes."""

from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.dedupe.job import REPLICAS_FILE, run
from spark_jobs.errors import CheckpointError, InputError
from tests.support.servers.kafka import KafkaBroker
from tests.support.spark.dedupe_stream import job_options
from tests.support.spark.job_process import JobProcess
from tests.support.spark.recorded import NODES, identity, three_copies
from tests.support.spark.records import Record, send

PARTITIONS = 3
RECORDINGS = ("5.0/three-nodes", "5.0/random", "5.0/deletions")
_KILLS_AFTER = (0, 2)

pytestmark = pytest.mark.servers


def test_every_event_once_over_two_kills(
    broker: KafkaBroker,
    spark: SparkSession,
    jars_directory: Path,
    java_options: str,
    tmp_path: Path,
) -> None:
    sent = three_copies(RECORDINGS, "killed")
    expected = Counter(set(map(identity, sent)))
    send(broker, sent, partitions=PARTITIONS)
    settings = [
        f"kafka.bootstrap.servers={broker.bootstrap}",
        "topics=killed",
        f"sink.delta.path={tmp_path / 'table'}",
        f"max.offsets.per.trigger={len(sent) // 4}",
        f"metrics.json.file={tmp_path / 'stats.json'}",
    ]
    job = JobProcess("spark_jobs.dedupe", tmp_path, jars_directory, java_options, settings)
    for number in _KILLS_AFTER:
        job.start()
        job.kill_when(partial(job.has_committed, number), f"micro-batch {number}")
    job.run_to_end()
    rows = spark.read.format("delta").load(str(tmp_path / "table")).collect()
    assert len(sent) > 2 * len(expected)
    assert Counter((bytes(row.id), row.value is None) for row in rows) == expected
    # Copies differ in node and time, so a row must equal one of them.
    sent_values = {(identity(record)[0], record.value) for record in sent}
    values = {(bytes(row.id), row.value and bytes(row.value)) for row in rows}
    assert values <= sent_values
    assert "replica copies per event" in job.log.read_text()
    assert (tmp_path / "stats.json").exists()
    assert all(node in (tmp_path / "checkpoint" / REPLICAS_FILE).read_text() for node in NODES)


def test_messages_stay_unchanged(broker: KafkaBroker, spark: SparkSession, tmp_path: Path) -> None:
    """Several topics by a pattern, by cells, to Kafka and Delta."""
    copies = three_copies(["5.0/three-nodes"])
    deletes = [record for record in copies if b'"op":"d"' in (record.value or b"")]
    tombstones = [Record(each.headers, None, each.key, each.topic) for each in deletes]
    sent = copies + tombstones
    assert tombstones
    send(broker, sent, partitions=PARTITIONS)
    topics = sorted({record.topic for record in sent})
    for topic in topics:
        broker.create_topic(f"once.{topic}", PARTITIONS)
    settings = {
        "kafka_bootstrap_servers": broker.bootstrap,
        "topics": "",
        "topics_pattern": "shop\\..*",
        "identity": "cell",
        "sink": "delta,kafka",
        "sink_topic_prefix": "once.",
        "sink_delta_path": str(tmp_path / "table"),
        "checkpoint": str(tmp_path / "checkpoint"),
        "trigger": "once",
    }
    stats = run(spark, job_options(**settings))
    assert stats.records == len(sent)
    assert set(stats.node_seen_ms) == set(NODES)

    got = broker.consume_all(*(f"once.{topic}" for topic in topics))
    possible = {
        (f"once.{record.topic}", record.key, record.value, record.headers) for record in sent
    }
    assert {(each.topic, each.key, each.value, each.headers) for each in got} <= possible
    assert all(each.partition == sum(each.key or b"") % PARTITIONS for each in got)
    expected = Counter(set(map(identity, sent)))
    assert Counter((dict(each.headers)["cdc.id"], each.value is None) for each in got) == expected
    rows = spark.read.format("delta").load(str(tmp_path / "table")).collect()
    assert Counter((bytes(row.id), row.value is None) for row in rows) == expected
    assert stats.events == len(rows)

    assert run(spark, job_options(**settings)).records == 0
    with pytest.raises(CheckpointError, match="its `identity` is `cell`, not `event`"):
        run(spark, job_options(**{**settings, "identity": "event"}))


def test_a_missing_topic_is_an_error(
    broker: KafkaBroker, spark: SparkSession, tmp_path: Path
) -> None:
    options = job_options(
        kafka_bootstrap_servers=broker.bootstrap,
        topics="nowhere",
        sink_delta_path=str(tmp_path / "table"),
        checkpoint=str(tmp_path / "checkpoint"),
    )
    with pytest.raises(InputError, match="does not exist"):
        run(spark, options)

"""Measures the time from a write in Cassandra to its change in Kafka, with a ten-second trigger.

A node, its agent, a broker and `spark_jobs.changes`, which also fills the store, share the machine.
Each write inserts a row, so it causes one change. A measurement begins at the write time, which the
driver sets, and ends when the broker appends the change.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benches.backlog import TABLE, running_agent
from benches.harness import Result, print_table, progress_bar, scratch_directory
from benches.latency import SCHEMA, write_rows
from benches.sampling import TopicCounter
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings
from tests.support.servers.kafka import KafkaBroker, KafkaRecord
from tests.support.servers.processes import wait_until
from tests.support.spark.job_process import JobProcess
from tests.support.spark.session import fetched_jars

RATES = (100, 1000)
TRIGGER_MS = 10_000
_PARTITIONS = 3
_DEADLINE_S = 600
_SYNC_PERIOD_MS = 1000
_JAVA_OPTIONS = "-XX:+UseSerialGC"


@dataclass(frozen=True)
class ChangesResult:
    """One rate. The first third of the changes is an unmeasured warm-up."""

    rows_per_s: int
    changes: int
    offered_per_s: float
    p50_s: float
    p99_s: float
    max_s: float


def run(is_quick: bool) -> Result:
    seconds, rates = (60, RATES[:1]) if is_quick else (300, RATES)
    results = []
    with progress_bar("changes", len(rates)) as step:
        for rate in rates:
            with scratch_directory("changes") as scratch:
                results.append(_measure(scratch, rate, seconds))
            step()
    _print(results)
    return {"trigger_ms": TRIGGER_MS, "sync_period_ms": _SYNC_PERIOD_MS, "results": results}


def _measure(scratch: Path, rate: int, seconds: int) -> ChangesResult:
    settings = NodeSettings(
        commitlog_sync_period_ms=_SYNC_PERIOD_MS,
        commitlog_segment_mib=8,
        heap_mib=1024,
        yaml={"write_request_timeout": "60s"},
    )
    events, changes = f"agents.{TABLE}", f"changes.{TABLE}"
    with (
        KafkaBroker(scratch / "kafka") as broker,
        CassandraNode(scratch / "node", settings=settings) as node,
    ):
        for statement in SCHEMA:
            node.execute(statement)
        schema = scratch / "schema.cql"
        schema.write_text(node.describe_schema())
        broker.create_topic(events, _PARTITIONS)
        broker.create_topic(changes, _PARTITIONS, {"message.timestamp.type": "LogAppendTime"})
        counter = TopicCounter(broker, changes, _PARTITIONS)
        job = _job(scratch, broker, events, schema)
        properties = {
            "topic.prefix": "agents",
            "kafka.producer.bootstrap.servers": broker.bootstrap,
            "cassandra.config": str(node.yaml),
        }
        with running_agent(scratch / "agent", properties):
            job.start()
            written_s = write_rows(node, rate, seconds).duration_s
            wait_until(
                lambda: counter.count() >= rate * seconds,
                "all changes",
                deadline_s=_DEADLINE_S,
                process=job.process,
            )
            job.stop()
        return _result(broker.consume_all(changes), rate, written_s)


def _job(folder: Path, broker: KafkaBroker, topic: str, schema: Path) -> JobProcess:
    settings = [
        f"kafka.bootstrap.servers={broker.bootstrap}",
        f"topics={topic}",
        f"output={folder / 'store'}",
        f"schema.file={schema}",
        "topic.prefix=changes",
        "buckets=4",
        "trigger=processing-time",
        f"trigger.interval.ms={TRIGGER_MS}",
    ]
    return JobProcess(
        "spark_jobs.changes", folder, fetched_jars(), _JAVA_OPTIONS, settings, is_measured=True
    )


def _result(records: Sequence[KafkaRecord], rate: int, written_s: float) -> ChangesResult:
    written_us = [int(dict(record.headers)["cdc.ts_us"]) for record in records]
    if {json.loads(record.value or b"{}").get("op") for record in records} - {"c", "r"}:
        raise AssertionError("a change is not an insert")
    latencies_s = [
        record.timestamp_ms / 1e3 - us / 1e6
        for us, record in sorted(zip(written_us, records, strict=True), key=lambda pair: pair[0])
    ]
    measured = sorted(latencies_s[len(latencies_s) // 3 :])
    return ChangesResult(
        rows_per_s=rate,
        changes=len(measured),
        offered_per_s=len(records) / written_s,
        p50_s=measured[len(measured) // 2],
        p99_s=measured[len(measured) * 99 // 100],
        max_s=measured[-1],
    )


def _print(results: Sequence[ChangesResult]) -> None:
    print_table(
        "From a write in Cassandra to its change in Kafka",
        results,
        {
            "rows/s": lambda each: f"{each.rows_per_s:,}",
            "offered/s": lambda each: f"{each.offered_per_s:,.0f}",
            "changes": lambda each: f"{each.changes:,}",
            "p50 s": lambda each: f"{each.p50_s:.1f}",
            "p99 s": lambda each: f"{each.p99_s:.1f}",
            "max s": lambda each: f"{each.max_s:.1f}",
        },
    )

"""Measures the time from an index file update to the event in Kafka, at 2,000 events per second.

The node's index file states how far a segment may be read. A measurement begins at the file's
modification time, and ends when the broker appends the record. With one replica, the
acknowledgement directly follows. Both timestamps use the machine's clock.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benches.backlog import TABLE, running_agent
from benches.harness import Result, print_table, progress_bar, scratch_directory
from benches.index_log import IndexLog, IndexUpdate
from benches.sampling import TopicCounter
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings
from tests.support.servers.errors import ToolFailedError
from tests.support.servers.kafka import KafkaBroker, KafkaRecord
from tests.support.servers.processes import wait_until

ROWS_PER_S = 2000
SYNC_PERIODS_MS = (100, 10_000)
_PARTITIONS = 3
_WARM_UP_S = 10
SCHEMA = (
    "CREATE KEYSPACE bench WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
    f"CREATE TABLE {TABLE} (id bigint, seq int, kind text, amount int, note text, "
    "PRIMARY KEY (id, seq)) WITH cdc = true",
)


@dataclass(frozen=True)
class Burst:
    """Events that one index file update makes readable, with times since that update."""

    events: int
    first_ms: float
    drained_ms: float


@dataclass(frozen=True)
class LatencyResult:
    """One sync period. `unmatched` counts events without a recorded index update."""

    sync_period_ms: int
    events: int
    unmatched: int
    written_s: float
    updates: int
    p50_ms: float
    p99_ms: float
    max_ms: float
    largest_bursts: list[Burst]


def run(is_quick: bool) -> Result:
    seconds = 10 if is_quick else 60
    results = []
    with progress_bar("following a node", len(SYNC_PERIODS_MS)) as step:
        for sync_period_ms in SYNC_PERIODS_MS:
            with scratch_directory("latency") as scratch:
                results.append(_measure(scratch, sync_period_ms, seconds))
            step()
    _print(results)
    return {"results": results}


def _measure(scratch: Path, sync_period_ms: int, seconds: int) -> LatencyResult:
    settings = NodeSettings(
        commitlog_sync_period_ms=sync_period_ms,
        commitlog_segment_mib=8,
        heap_mib=1024,
        compile_fully=True,
        # On a busy machine, writes must be late rather than fail.
        yaml={"write_request_timeout": "60s"},
    )
    topic = f"latency.{TABLE}"
    with (
        KafkaBroker(scratch / "kafka") as broker,
        CassandraNode(scratch / "node", settings=settings) as node,
    ):
        for statement in SCHEMA:
            node.execute(statement)
        broker.create_topic(topic, _PARTITIONS, {"message.timestamp.type": "LogAppendTime"})
        counter = TopicCounter(broker, topic, _PARTITIONS)
        with (
            IndexLog(node.cdc_raw) as log,
            running_agent(
                scratch / "agent",
                {
                    "topic.prefix": "latency",
                    "kafka.producer.bootstrap.servers": broker.bootstrap,
                    "cassandra.config": str(node.yaml),
                    # The index log needs the final index update of a finished segment.
                    "commit.log.transfer.class": "archive",
                },
            ),
        ):
            write_rows(node, ROWS_PER_S, _WARM_UP_S)
            warm_up_rows = ROWS_PER_S * _WARM_UP_S
            wait_until(lambda: counter.count() >= warm_up_rows, "the first events")
            written_s = write_rows(node, ROWS_PER_S, seconds).duration_s
            rows = warm_up_rows + ROWS_PER_S * seconds
            wait_until(lambda: counter.count() >= rows, "all events")
        records = broker.consume_all(topic)
    return _result(records, log, sync_period_ms, warm_up_rows, written_s)


@dataclass(frozen=True)
class Load:
    """A finished load, with the response times of its writes."""

    duration_s: float
    p50_ms: float
    p99_ms: float


def write_rows(node: CassandraNode, rows_per_s: int, seconds: int) -> Load:
    """Run the load."""
    address = node.address
    words = ["-m", "benches.load_generator", address.host, str(address.cql_port)]
    words += [str(rows_per_s), str(seconds)]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ToolFailedError(f"The writes failed:\n{done.stderr[-2000:]}")
    return Load(*map(float, done.stdout.split()))


def _result(
    records: Sequence[KafkaRecord],
    log: IndexLog,
    sync_period_ms: int,
    warm_up_rows: int,
    written_s: float,
) -> LatencyResult:
    events = sorted((_place(record), record.timestamp_ms) for record in records)[warm_up_rows:]
    latencies_ms: list[float] = []
    bursts: dict[IndexUpdate, list[float]] = {}
    for (_, segment, position), appended_ms in events:
        update = log.update_of(segment, position)
        if update is None:
            continue
        latency_ms = appended_ms - update.at_s * 1000
        latencies_ms.append(latency_ms)
        bursts.setdefault(update, []).append(latency_ms)
    latencies_ms.sort()
    largest = sorted(bursts.values(), key=len, reverse=True)[:5]
    return LatencyResult(
        sync_period_ms=sync_period_ms,
        events=len(events),
        unmatched=len(events) - len(latencies_ms),
        written_s=written_s,
        updates=len(bursts),
        p50_ms=latencies_ms[len(latencies_ms) // 2],
        p99_ms=latencies_ms[len(latencies_ms) * 99 // 100],
        max_ms=latencies_ms[-1],
        largest_bursts=[Burst(len(each), min(each), max(each)) for each in largest],
    )


def _place(record: KafkaRecord) -> tuple[int, str, int]:
    source = json.loads(record.value or b"{}")["source"]
    segment = str(source["file"])
    return int(segment.removesuffix(".log").rpartition("-")[2]), segment, int(source["pos"])


def _print(results: Sequence[LatencyResult]) -> None:
    print_table(
        "From the index update to Kafka",
        results,
        {
            "sync period": lambda each: f"{each.sync_period_ms} ms",
            "events": lambda each: f"{each.events:,}",
            "offered/s": lambda each: f"{each.events / each.written_s:,.0f}",
            "p50 ms": lambda each: f"{each.p50_ms:,.0f}",
            "p99 ms": lambda each: f"{each.p99_ms:,.0f}",
            "max ms": lambda each: f"{each.max_ms:,.0f}",
            "updates": lambda each: f"{each.updates}",
        },
    )
    for each in results:
        for burst in each.largest_bursts:
            print(
                f"sync period {each.sync_period_ms} ms: a burst of {burst.events:,} events, the "
                f"first after {burst.first_ms:.0f} ms, all after {burst.drained_ms:.0f} ms"
            )

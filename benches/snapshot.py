"""A snapshot of existing rows into a real broker, all on the machine's cores.

By turns in one run, over the same table and broker, at consistency ALL: bare reading (the agent's
pages, asked for and thrown away), the agent, the agent without `cells`, and Debezium's connector.
"""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import commitlog
from agent.node.connection import NodeAddress
from agent.snapshot.connection import PageConnection
from agent.snapshot.range_reader import PageSize
from agent.snapshot.ring import MAX_TOKEN, MIN_TOKEN
from agent.snapshot.sources import PendingPage
from benches.backlog import TABLE, counted_topic, running_agent
from benches.machine import machine
from benches.paths import scratch_directory
from benches.progress import progress_bar
from benches.sampling import Observation, observe
from benches.stats import Spread, print_table, write_result
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings
from tests.support.servers.debezium import VERSION, DebeziumPeer
from tests.support.servers.errors import ServerFailedError
from tests.support.servers.kafka import KafkaBroker

ROWS, QUICK_ROWS = 100_000, 5_000
ROUNDS = 3
READING, AGENT, WITHOUT_CELLS = "bare reading", "agent", "agent, event.cells=false"
DEBEZIUM = f"Debezium {VERSION}"
_SCHEMA = (
    "CREATE KEYSPACE bench WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
    f"CREATE TABLE {TABLE} (id bigint, seq int, kind text, amount int, note text, "
    "PRIMARY KEY (id, seq))",
)
_EVENTS_A_PAGE_BYTES = 2 << 20
_WRITERS = 32


@dataclass(frozen=True)
class Reading:
    """The result of reading pages without encoding events."""

    rows: int
    seconds: float


def run(is_quick: bool) -> None:
    rows, rounds = (QUICK_ROWS, 1) if is_quick else (ROWS, ROUNDS)
    at_start = machine()
    seen: dict[str, list[Observation]] = {}
    readings: list[Reading] = []
    settings = NodeSettings(commitlog_sync_period_ms=500, heap_mib=1024, compile_fully=True)
    with (
        scratch_directory("snapshot") as scratch,
        KafkaBroker(scratch / "kafka", heap_mib=1024) as broker,
        CassandraNode(scratch / "node", settings=settings) as node,
    ):
        with progress_bar("writing rows"):
            fill(node, rows)
        with progress_bar("copying", 4 * rounds) as step:
            for number in range(rounds):
                here = scratch / f"round-{number}"
                readings.append(read_bare(node))
                step()
                for name, more in (
                    (AGENT, {}),
                    (WITHOUT_CELLS, {"event.cells": "false"}),
                ):
                    prefix = f"{'cells' if not more else 'plain'}-{number}"
                    seen.setdefault(name, []).append(
                        run_agent(broker, node, here / prefix, prefix, rows, more)
                    )
                    step()
                seen.setdefault(DEBEZIUM, []).append(
                    run_debezium(broker, node, here / "debezium", f"debezium-{number}", rows)
                )
                step()
    report(rows, rounds, readings, seen)
    rates = {
        name: Spread.of([each.steady.events_per_s for each in runs]) for name, runs in seen.items()
    }
    rates[READING] = Spread.of([each.rows / each.seconds for each in readings])
    write_result("snapshot", at_start, is_quick, {"rows": rows, "rows_per_s": rates})


def fill(node: CassandraNode, rows: int) -> None:
    """Write rows of about 140 bytes, in partitions of twenty, before CDC is enabled."""
    for statement in _SCHEMA:
        node.execute(statement)
    session = node.session()
    insert = session.prepare(
        f"INSERT INTO {TABLE} (id, seq, kind, amount, note) VALUES (?, ?, ?, ?, ?)"
    )

    def write(first: int) -> None:
        for number in range(first, rows, _WRITERS):
            values = (number // 20, number % 20, f"kind-{number % 7}", number, "n" * 90)
            session.execute(insert, values)

    with ThreadPoolExecutor(_WRITERS) as writers:
        list(writers.map(write, range(_WRITERS)))
    node.flush("bench")
    node.execute(f"ALTER TABLE {TABLE} WITH cdc = true")


def read_bare(node: CassandraNode) -> Reading:
    """Read every page with the agent's queries, without encoding events."""
    connection = PageConnection(
        NodeAddress([node.address.host], node.address.cql_port), lambda *_: True
    )
    try:
        (table,) = [each for each in connection.tables() if each.full_name == TABLE]
        encoder = commitlog.SnapshotEncoder(
            commitlog.Schema.from_cql(node.describe_schema()),
            table.table_id,
            commitlog.EventFormat(topic_prefix="b", cluster="b", node_id="b"),
            element_times=True,
            started_us=0,
        )
        cql = encoder.cql(MIN_TOKEN, MAX_TOKEN)
        page_rows = PageSize(_EVENTS_A_PAGE_BYTES, None).rows * 4
        start_s = time.monotonic()
        rows = 0
        asked: PendingPage | None = connection.ask(cql, "ALL", page_rows, None)
        while asked is not None:
            page = asked.result()
            asked = None
            if page.next_page is not None:
                asked = connection.ask(cql, "ALL", page_rows, page.next_page)
            rows += int.from_bytes(page.body[:4], "big")
        return Reading(rows, time.monotonic() - start_s)
    finally:
        connection.close()


def run_agent(
    broker: KafkaBroker,
    node: CassandraNode,
    directory: Path,
    prefix: str,
    rows: int,
    properties: dict[str, str],
) -> Observation:
    """Start the agent with an empty `cdc_raw`."""
    raw = directory / "cdc_raw"
    raw.mkdir(parents=True)
    settings = {
        "topic.prefix": prefix,
        "kafka.producer.bootstrap.servers": broker.bootstrap,
        "cdc.raw.directory": str(raw),
        "cassandra.hosts": node.address.host,
        "cassandra.port": str(node.address.cql_port),
        "snapshot.mode": "initial",
    } | properties
    with counted_topic(broker, prefix) as counter, running_agent(directory, settings) as pid:
        return observe(pid, counter, broker, rows)


def run_debezium(
    broker: KafkaBroker, node: CassandraNode, directory: Path, prefix: str, rows: int
) -> Observation:
    properties = {"snapshot.mode": "initial", "snapshot.consistency": "ALL"}
    peer = DebeziumPeer(node, broker, directory, topic_prefix=prefix, properties=properties)
    with counted_topic(broker, prefix) as counter:
        peer.launch()
        try:
            if peer.pid is None:
                raise ServerFailedError(f"Debezium did not start; see {peer.log_file}.")
            return observe(peer.pid, counter, broker, rows)
        finally:
            peer.kill()


def report(
    rows: int,
    rounds: int,
    readings: Sequence[Reading],
    seen: dict[str, list[Observation]],
) -> None:
    bare = Spread.of([each.rows / each.seconds for each in readings])
    lines = [[READING, bare.text(), "", "", ""]]
    for name, runs in seen.items():
        lines.append(
            [
                name,
                Spread.of([each.steady.events_per_s for each in runs]).text(),
                Spread.of([each.steady.cpu_us_per_event for each in runs]).text(1),
                Spread.of([each.start_up.seconds for each in runs]).text(1),
                Spread.of([each.max_rss_mib for each in runs]).text(),
            ]
        )
    print_table(
        f"snapshot of {rows:,} rows, {rounds} rounds: median (range)",
        ("", "rows/s", "CPU µs a row", "start-up s", "most MiB"),
        lines,
    )
    ratios = [
        ours.steady.events_per_s / theirs.steady.events_per_s
        for ours, theirs in zip(seen[AGENT], seen[DEBEZIUM], strict=True)
    ]
    print(f"agent / Debezium, by rounds: {Spread.of(ratios).text(2)}")

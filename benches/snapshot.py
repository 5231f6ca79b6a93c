"""Publishes a snapshot of existing rows; a real node and a real broker share the machine.

Four candidates alternate on the same table and broker, at consistency ALL: a bare read that
discards the agent's pages, the agent, the agent without `cells`, and Debezium's connector.
"""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import commitlog
from agent.node.connection import NodeAddress
from agent.snapshot.connection import PageConnection, PendingPage
from agent.snapshot.ring import MAX_TOKEN, MIN_TOKEN
from benches.backlog import TABLE, counted_topic, run_debezium, running_agent
from benches.candidates import candidates, print_candidates, rate, ratio
from benches.harness import Result, Spread, progress_bar, run_rounds, scratch_directory
from benches.sampling import Observation, observe
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings
from tests.support.servers.debezium import VERSION
from tests.support.servers.kafka import KafkaBroker

ROWS, QUICK_ROWS = 100_000, 5_000
ROUNDS = 3
AGENT, WITHOUT_CELLS, DEBEZIUM = "agent", "agent, event.cells=false", f"Debezium {VERSION}"
_PREFIXES = {AGENT: "agent", WITHOUT_CELLS: "plain", DEBEZIUM: "debezium"}
_SCHEMA = (
    "CREATE KEYSPACE bench WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
    f"CREATE TABLE {TABLE} (id bigint, seq int, kind text, amount int, note text, "
    "PRIMARY KEY (id, seq))",
)
_EVENTS_A_PAGE_BYTES = 2 << 20
_WRITERS = 32


def run(is_quick: bool) -> Result:
    rows, rounds = (QUICK_ROWS, 1) if is_quick else (ROWS, ROUNDS)
    settings = NodeSettings(commitlog_sync_period_ms=500, heap_mib=1024, compile_fully=True)
    with (
        scratch_directory("snapshot") as scratch,
        KafkaBroker(scratch / "kafka", heap_mib=1024) as broker,
        CassandraNode(scratch / "node", settings=settings) as node,
    ):
        with progress_bar("writing rows"):
            fill(node, rows)
        bare_rates: list[float] = []

        def publish(name: str, number: int) -> Observation:
            prefix = f"{_PREFIXES[name]}-{number}"
            here = scratch / prefix
            if name == DEBEZIUM:
                more = {"snapshot.mode": "initial", "snapshot.consistency": "ALL"}
                return run_debezium(broker, node, (), rows, here, prefix, more)
            if name == AGENT:
                bare_rates.append(read_bare(node))
            return run_agent(broker, node, here, prefix, rows, is_with_cells=name == AGENT)

        seen = run_rounds("copying", tuple(_PREFIXES), publish, rounds=rounds)
    bare = Spread.of(bare_rates)
    print_candidates(f"snapshot of {rows:,} rows, {rounds} interleaved rounds", seen)
    print(f"bare read, rows/s: {bare.text()}")
    print(f"agent / Debezium, round by round: {ratio(seen, AGENT, DEBEZIUM, rate).text(2)}")
    return {"rows": rows, "candidates": candidates(seen), "bare_rows_per_s": bare}


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


def read_bare(node: CassandraNode) -> float:
    """Read and discard every page with the agent's queries; return rows per second."""
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
        page_rows = 2000
        start_s = time.monotonic()
        rows = 0
        asked: PendingPage | None = connection.ask(cql, "ALL", page_rows, None)
        while asked is not None:
            page = asked.result()
            asked = None
            if page.next_page is not None:
                asked = connection.ask(cql, "ALL", page_rows, page.next_page)
            rows += int.from_bytes(page.body[:4], "big")
        return rows / (time.monotonic() - start_s)
    finally:
        connection.close()


def run_agent(
    broker: KafkaBroker,
    node: CassandraNode,
    directory: Path,
    prefix: str,
    rows: int,
    *,
    is_with_cells: bool,
) -> Observation:
    """Run the agent with an empty `cdc_raw` until it has published all rows."""
    raw = directory / "cdc_raw"
    raw.mkdir(parents=True)
    settings = {
        "topic.prefix": prefix,
        "kafka.producer.bootstrap.servers": broker.bootstrap,
        "cdc.raw.directory": str(raw),
        "cassandra.hosts": node.address.host,
        "cassandra.port": str(node.address.cql_port),
        "snapshot.mode": "initial",
        "event.cells": str(is_with_cells).lower(),
    }
    with (
        counted_topic(broker, f"{prefix}.{TABLE}") as counter,
        running_agent(directory, settings) as pid,
    ):
        return observe(pid, counter, broker, rows)

"""Merging the events of a real node gives what the node itself selects."""

import secrets
import time
from collections import Counter
from pathlib import Path
from random import Random

import pytest

import commitlog
from tests.harness.cassandra import CassandraNode
from tests.harness.cassandra_settings import NodeSettings, release
from tests.harness.processes import wait_until
from tests.merge.cdc_raw import CdcRawReader
from tests.merge.comparison import differences, select_all, summary
from tests.merge.tables import Tables
from tests.merge.workload.execution import Execution
from tests.merge.workload.statements import StatementSource
from tests.merge.workload.tables import RandomSchema, random_schema

STATEMENTS = 3000
KEYSPACE = "ks"
SENTINEL = "last_write"


def table_ids(node: CassandraNode) -> dict[str, str]:
    """Table id by name."""
    rows = node.execute(
        f"SELECT table_name, id FROM system_schema.tables WHERE keyspace_name = '{KEYSPACE}'"
    )
    return {row.table_name: str(row.id) for row in rows}


def read_to_the_end(node: CassandraNode) -> tuple[Tables, Counter[str]]:
    """All events up to a last write, merged, and how many of each kind."""
    node.execute(f"CREATE TABLE {KEYSPACE}.{SENTINEL} (id int PRIMARY KEY) WITH cdc = true")
    node.execute(f"INSERT INTO {KEYSPACE}.{SENTINEL} (id) VALUES (1)")
    sentinel_id = table_ids(node)[SENTINEL]
    reader = CdcRawReader(node, commitlog.Schema.from_cql(node.describe_schema()))
    tables = Tables()
    kinds: Counter[str] = Counter()

    def has_ended() -> bool:
        for event in reader.read():
            tables.apply(event.value)
            kinds[event.headers["cdc.kind"]] += 1
        return sentinel_id in tables.by_id

    wait_until(has_ended, "the last write in cdc_raw")
    assert reader.gaps == []
    return tables, kinds


def wait_for_expiries(short_ttl_end_s: float) -> None:
    """Until every short TTL is over, so that the second of comparing does not matter."""
    wait_until(lambda: time.time() > short_ttl_end_s, "short TTLs to expire")


def all_differences(node: CassandraNode, schema: RandomSchema, tables: Tables) -> list[str]:
    ids = table_ids(node)
    lines: list[str] = []
    selected_rows = 0
    for table in schema.cdc_tables:
        selected = select_all(node.session(), KEYSPACE, table.name)
        selected_rows += len(selected.rows)
        merged = tables.of(ids[table.name])
        lines += [
            f"{table.name}: {line}" for line in differences(merged, selected, int(time.time()))
        ]
    assert selected_rows > 0
    return lines


@pytest.mark.servers
@pytest.mark.parametrize(
    ("version", "compression", "mode"),
    [("5.0.9", None, "NONE"), ("4.1.10", "LZ4Compressor", "CASSANDRA_4")],
)
def test_merged_events_equal_select(
    version: str, compression: str | None, mode: str, tmp_path: Path
) -> None:
    seed = secrets.randbits(32)
    print(f"seed {seed}")
    settings = NodeSettings(
        commitlog_sync_period_ms=200,
        commitlog_segment_mib=4,
        commitlog_compression=compression,
        storage_compatibility_mode=mode,
    )
    with CassandraNode(tmp_path / "node", version=version, settings=settings) as node:
        random = Random(seed)
        schema = random_schema(
            random, time.time_ns() // 1000, keyspace=KEYSPACE, release=release(version)
        )
        for text in schema.statements():
            node.execute(text)
        execution = Execution(node.session())
        source = StatementSource(random, schema)
        for number in range(STATEMENTS):
            execution.run(source.next())
            if number % 1000 == 500:
                node.flush(KEYSPACE)
        short_ttl_end_s = time.time() + 5
        tables, kinds = read_to_the_end(node)
        assert kinds.keys() == {"row", "static", "range", "partition"}
        wait_for_expiries(short_ttl_end_s)
        lines = all_differences(node, schema, tables)
        assert not lines, f"seed {seed}, {len(lines)} differences\n{summary(lines)}"

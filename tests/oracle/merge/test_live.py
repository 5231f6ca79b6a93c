"""Merged events of a real node match its own `SELECT *`."""

import re
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

import commitlog
from tests.oracle.algebra.tables import Tables
from tests.oracle.merge.cdc_raw import CdcRawReader, snapshot_values
from tests.oracle.merge.comparison import Comparison, compare, summary
from tests.oracle.merge.writes import SHORT_TTL_S, random_writes, run
from tests.support.seeds import draw_seed
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings, release
from tests.support.servers.processes import wait_until
from tests.support.workloads import SCENARIOS, random_tables, scenario, schema_statements

EQUAL = "merge_equal.elements"
EQUAL_ELEMENTS = {
    1: ("1 SET s = s + {1.0}", "2 SET s = s + {1.00}"),
    2: ("2 SET s = s + {1.00}", "1 SET s = s + {1.0}"),
    3: ("1 SET s = s + {1.00}", "2 SET s = s + {1.0}"),
    4: ("1 SET s = s + {1.0, 2}", "2 SET s = s - {1.00}"),
    5: ("5 SET m[1.0] = 'a'", "5 SET m[1.00] = 'b'"),
    6: ("5 SET m[1.00] = 'b'", "5 SET m[1.0] = 'a'"),
    7: ("5 SET f[(-0.10, 1)] = 'a'", "6 SET f[(-0.1, 1)] = 'b'"),
}
"""By key: two writes, each after its write time, of elements that are equal to Cassandra."""
SENTINEL = "merge_test.last_write"
# Counters do not merge by cell, the longest TTL is for one version in one mode, and constraints
# exist only in 6.0.
OTHERS = {"constraints", "counters", "mixed", "random", "ttl_longest"}
MERGEABLE = sorted(SCENARIOS.keys() - OTHERS)


def read_to_the_end(node: CassandraNode) -> tuple[Tables, Counter[str]]:
    """All merged events up to the last write, with the number of each kind."""
    node.execute(
        "CREATE KEYSPACE merge_test WITH replication = "
        "{'class': 'SimpleStrategy', 'replication_factor': 1}"
    )
    node.execute(f"CREATE TABLE {SENTINEL} (id int PRIMARY KEY) WITH cdc = true")
    node.execute(f"INSERT INTO {SENTINEL} (id) VALUES (1)")
    reader = CdcRawReader(node, commitlog.Schema.from_cql(node.describe_schema()))
    tables = Tables()
    kinds: Counter[str] = Counter()
    topics: set[str] = set()

    def has_ended() -> bool:
        for event in reader.read():
            tables.apply(event.value)
            kinds[event.headers["cdc.kind"]] += 1
            topics.add(event.topic)
        return f"merge.{SENTINEL}" in topics

    wait_until(has_ended, "the last write in cdc_raw")
    assert reader.gaps == []
    return tables, kinds


def write_equal_elements(node: CassandraNode) -> None:
    """Each pair within a memtable, and once more with an SSTable in between."""
    keyspace, pairs = EQUAL.split(".")[0], EQUAL_ELEMENTS.items()
    node.execute(
        f"CREATE KEYSPACE {keyspace} WITH replication = "
        "{'class': 'SimpleStrategy', 'replication_factor': 1}"
    )
    node.execute(
        f"CREATE TABLE {EQUAL} (k int PRIMARY KEY, s set<decimal>, m map<decimal, text>, "
        "f map<frozen<tuple<decimal, int>>, text>) WITH cdc = true"
    )

    def write(number: int, text: str) -> None:
        node.execute(f"UPDATE {EQUAL} USING TIMESTAMP {text} WHERE k = {number}")

    for key, (first, _) in pairs:
        write(-key, first)
    node.flush(keyspace)
    for key, (first, second) in pairs:
        write(-key, second)
        write(key, first)
        write(key, second)


def equal_elements_are_one(node: CassandraNode, tables: Tables) -> bool:
    keyspace, name = EQUAL.split(".")
    (found,) = node.execute(
        "SELECT id FROM system_schema.tables WHERE keyspace_name = %s AND table_name = %s",
        (keyspace, name),
    )
    rows = tables.of(found.id).rows(int(time.time()))
    counts = [len(value) for row in rows.values() for value in row.values()]
    return counts == [1] * (2 * len(EQUAL_ELEMENTS))


def compare_all(node: CassandraNode, tables: Tables) -> Comparison:
    keyspaces = node.execute("SELECT keyspace_name FROM system_schema.keyspaces")
    return compare(
        node.session(),
        tables,
        [row.keyspace_name for row in keyspaces if not row.keyspace_name.startswith("system")],
    )


def execute_all(node: CassandraNode, statements: Iterable[str]) -> None:
    """With TTLs that expire within seconds, or not while a slow machine reads and compares."""
    for statement in statements:
        # The commit log does not contain TRUNCATE.
        if not statement.startswith("TRUNCATE"):
            node.execute(re.sub(r"\bTTL 60\b", "TTL 86400", statement))


def check(node: CassandraNode, names: Sequence[str], count: int, seed: int) -> Comparison:
    """Workloads, then random writes with ties over ten tables. Then the same merged with the rows
    of a snapshot, all of which the log contains; and the snapshot alone."""
    of_release = release(node.version)
    writes = random_writes(seed, count, keyspace="random", release=of_release)
    for name in names:
        workload = scenario(name, of_release, seed)
        execute_all(node, (*workload.schema, *workload.statements))
    execute_all(node, schema_statements(random_tables(seed, release=of_release)))
    refused = 0
    for number, write in enumerate(writes):
        refused += not run(node.session(), write)
        if number % (count // 3) == count // 6:
            node.flush("random")
    write_equal_elements(node)
    written_s = time.time()
    tables, kinds = read_to_the_end(node)
    assert kinds.keys() == {"row", "static", "range", "partition"}
    wait_until(lambda: time.time() > written_s + SHORT_TTL_S + 1, "short TTLs to end")
    assert equal_elements_are_one(node, tables)
    compared = require_equal(node, tables, "the log")
    print(compared.tables, "tables,", compared.rows, "rows,", refused, "writes refused")
    copied, alone = 0, Tables()
    for value in snapshot_values(node, commitlog.Schema.from_cql(node.describe_schema())):
        tables.apply(value)
        alone.apply(value)
        copied += 1
    assert copied >= compared.rows
    require_equal(node, tables, "the log with a snapshot")
    require_equal(node, alone, "the snapshot by itself")
    # Proves that the comparison detects differences.
    assert len(compare_all(node, Tables()).differences) == compared.rows
    return compared


def require_equal(node: CassandraNode, tables: Tables, what: str) -> Comparison:
    compared = compare_all(node, tables)
    shown = summary(compared.differences)
    assert not compared.differences, f"{what}, {len(compared.differences)} differences\n{shown}"
    return compared


@pytest.fixture
def seed() -> int:
    chosen = draw_seed()
    return chosen


@pytest.mark.servers
def test_merged_events_of_a_node_equal_select(shared_node: CassandraNode, seed: int) -> None:
    compared = check(shared_node, ("collections", "deletions", "timestamps", "ttl"), 600, seed)
    assert compared.tables > 10
    assert compared.rows > 100


@pytest.mark.slow
@pytest.mark.servers
@pytest.mark.parametrize(
    ("version", "compression", "mode"),
    [("5.0.9", None, "NONE"), ("4.1.10", "LZ4Compressor", "CASSANDRA_4")],
)
def test_merged_workloads_of_two_releases_equal_select(
    version: str, compression: str | None, mode: str, seed: int, tmp_path: Path
) -> None:
    settings = NodeSettings(
        commitlog_sync_period_ms=200,
        commitlog_segment_mib=4,
        commitlog_compression=compression,
        storage_compatibility_mode=mode,
    )
    with CassandraNode(tmp_path / "node", version=version, settings=settings) as node:
        compared = check(node, MERGEABLE, 3000, seed)
    assert compared.tables > 20
    assert compared.rows > 500

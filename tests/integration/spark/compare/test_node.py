"""A real node compared with faulty stores: each fault is found and classified."""

import base64
import itertools
import json
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from spark_jobs.compare.job import run
from spark_jobs.compare.options import CompareOptions
from spark_jobs.compare.report import ComparisonReport, TargetReport, report_page
from spark_jobs.reconcile.source_table import SourceSchema, read_schema
from spark_jobs.reconcile.store import VersionStore
from spark_jobs.source.events import read_cells
from spark_jobs.source.segments import SegmentDecoder, find_segments
from spark_jobs.tables.job import run as run_tables
from spark_jobs.tables.options import TablesJobOptions
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings
from tests.support.servers.processes import wait_until
from tests.support.spark.options import options_of

LIVE, GONE, HITS = "shop.live", "shop.gone", "shop.hits"
SCHEMA = (
    "CREATE KEYSPACE shop WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
    "CREATE TYPE shop.place (street text, number int)",
    f"CREATE TABLE {LIVE} (p int, c int, st text static, v text, w int, l list<int>, s set<text>,"
    " m map<text, int>, u shop.place, PRIMARY KEY (p, c)) WITH cdc = true",
    f"CREATE TABLE {GONE} (k int PRIMARY KEY, v text) WITH cdc = true",
    f"CREATE TABLE {HITS} (k int PRIMARY KEY, n counter) WITH cdc = true",
)
PARTITIONS = 24
DROPPED, NULLED, DELETED, LATER, LATER_DELETED, EXPIRED = range(1, 7)
"""Partitions with one fault each."""
BUCKETS = 4
HOUR_US = 3_600_000_000


def statements() -> Iterator[str]:
    """Writes of all kinds."""
    for p, c in itertools.product(range(PARTITIONS), range(3)):
        yield (
            f"INSERT INTO {LIVE} (p, c, v, w, l, s, m, u) VALUES ({p}, {c}, 'v{p}', {c},"
            " [1, 2, 3], {'a', 'b'}, {'x': 1, 'y': 2}, {street: 's', number: 7})"
        )
    for p in range(7, PARTITIONS):
        yield f"UPDATE {LIVE} SET st = 'static {p}' WHERE p = {p}"
        yield f"UPDATE {LIVE} SET l = l + [4], s = s - {{'a'}}, m['z'] = 3 WHERE p = {p} AND c = 0"
        yield f"UPDATE {LIVE} SET l = [0] + l, u.number = 8 WHERE p = {p} AND c = 1"
        yield f"UPDATE {LIVE} USING TTL 86400 SET v = 'expiring' WHERE p = {p} AND c = 1"
        yield f"DELETE w, l[0] FROM {LIVE} WHERE p = {p} AND c = 2"
    yield f"INSERT INTO {LIVE} (p, c) VALUES (20, 100)"
    yield f"DELETE FROM {LIVE} WHERE p = 21"
    yield f"DELETE FROM {LIVE} WHERE p = 22 AND c < 2"
    yield f"DELETE FROM {LIVE} WHERE p = {DELETED} AND c = 1"
    for k in range(5):
        yield f"INSERT INTO {GONE} (k, v) VALUES ({k}, 'v')"
        for count in (k, 10):
            yield f"UPDATE {HITS} SET n = n + {count} WHERE k = {k}"


class Events:
    """Events of a table, which a test can change."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = [
            (row["table"], row["token"], row["ck"], json.loads(row["event"])) for row in rows
        ]

    def of(self, p: int, c: int, member: str) -> list[tuple[Any, ...]]:
        """Events of a row that contain a member of `cells`."""
        return [
            row
            for row in self.rows
            if (cells := row[3]["cells"]).get("kind") == "row"
            and _integer(cells["pk"]) == p
            and _integer(cells["ckv"][0]) == c
            and member in cells
        ]

    def drop(self, rows: Sequence[tuple[Any, ...]]) -> None:
        assert rows
        self.rows = [row for row in self.rows if row not in rows]

    def add(self, table: str, token: int, ck: bytes, cells: dict[str, Any]) -> None:
        self.rows.append((table, token, ck, {"cells": cells}))


def _integer(encoded: str) -> int:
    return int.from_bytes(base64.b64decode(encoded), "big", signed=True)


@pytest.mark.slow
@pytest.mark.servers
def test_compare_finds_and_classifies_each_fault(spark: SparkSession, tmp_path: Path) -> None:
    settings = NodeSettings(commitlog_sync_period_ms=200, commitlog_segment_mib=1)
    with CassandraNode(tmp_path / "node", settings=settings) as node:
        for statement in (*SCHEMA, *statements()):
            node.execute(statement)
        node.execute(f"INSERT INTO {LIVE} (p, c, v) VALUES ({EXPIRED}, 9, 'v') USING TTL 2")
        read_from_us = time.time_ns() // 1000
        node.execute(f"TRUNCATE {GONE}")
        node.close_segment()
        shutil.copytree(node.cdc_raw, tmp_path / "archive")
        (tmp_path / "schema.cql").write_text(node.describe_schema())
        schema = read_schema(tmp_path / "schema.cql")
        fill(spark, tmp_path, schema, GONE, Events(events(spark, tmp_path, schema, GONE)))
        hits = Events(events(spark, tmp_path, schema, HITS))
        hits.drop([max(hits.rows, key=lambda row: row[3]["cells"]["cell"][0]["ts"])])
        fill(spark, tmp_path, schema, HITS, hits)
        faulty = Events(events(spark, tmp_path, schema, LIVE))
        inject(faulty)
        fill(spark, tmp_path, schema, LIVE, faulty)
        expiring = f"SELECT c FROM {LIVE} WHERE p = {EXPIRED} AND c = 9"
        wait_until(lambda: not node.execute(expiring), "the row to expire", deadline_s=60)

        follow(spark, tmp_path, schema)
        early = compare(spark, tmp_path, schema, LIVE, node, "1", now_us=slow_reads(read_from_us))
        assert (early.verdict, early.exit_code) == ("not_there_yet", 8)
        gone = compare(spark, tmp_path, schema, GONE, node, later_ms())
        assert found(gone) == {("truncate_suspected", f'"k" = {k}') for k in range(5)}

        counted = compare(spark, tmp_path, schema, HITS, node, later_ms())
        assert found(counted) == {("loss", '"k" = 4')}

    spark.sql(f"DELETE FROM delta.`{tmp_path / 'tables/shop/live'}` WHERE p = 10 AND c = 0")
    # The node has stopped: the second run has all rows, and only the watermark differs.
    report = compare(spark, tmp_path, schema, LIVE, node, later_ms())
    print(report.message())
    assert (report.verdict, report.exit_code) == ("differs", 7)
    assert found(report) == {
        ("loss", f'"p" = {DROPPED} AND "c" = 0'),
        ("loss", f'"p" = {NULLED} AND "c" = 0'),
        ("lost_delete", f'"p" = {DELETED} AND "c" = 1'),
        ("written_after", f'"p" = {LATER} AND "c" = 0'),
        ("written_after", f'"p" = {LATER_DELETED} AND "c" = 0'),
        ("expired", f'"p" = {EXPIRED} AND "c" = 9'),
    }
    assert report.differing_ranges < report.ranges
    assert report.target is not None
    assert found(report.target) == {("missing_row", '{"p":10,"c":0}')}
    assert "<td>lost_delete</td>" in report_page(report)


def slow_reads(from_us: int) -> Callable[[], int]:
    """Clock with which the comparison and each read started at one time, and reads end now."""
    beginning = itertools.chain([True], itertools.cycle([True, False]))
    return lambda: from_us if next(beginning) else time.time_ns() // 1000


def inject(events: Events) -> None:
    """Inject one fault into each of some partitions."""
    events.drop(events.of(DROPPED, 0, "cell"))
    events.drop(events.of(DELETED, 1, "del"))
    ((table, _, _, nulled),) = events.of(NULLED, 0, "cell")
    for cell in nulled["cells"]["cell"]:
        if cell["col"] == "v":
            cell["val"] = None
            cell["ldt"] = cell["ts"] // 1_000_000
    later_us = time.time_ns() // 1000 + HOUR_US
    for p, member in ((LATER, "cell"), (LATER_DELETED, "del")):
        ((_, token, ck, event),) = events.of(p, 0, "cell")
        cells = {name: event["cells"][name] for name in ("kind", "id", "pk", "token", "ck", "ckv")}
        if member == "cell":
            cells["cell"] = [{"col": "v", "ts": later_us, "val": "bGF0ZXI="}]
        else:
            cells["del"] = {"ts": later_us, "ldt": later_us // 1_000_000}
        events.add(table, token, ck, cells)


def found(report: ComparisonReport | TargetReport) -> set[tuple[str, str]]:
    assert sum(report.found.causes.values()) == len(report.found.rows)
    return {(str(row.cause), row.key) for row in report.found.rows}


def follow(spark: SparkSession, folder: Path, schema: SourceSchema) -> None:
    """Fill the typed table of `LIVE` from the store."""
    options = {
        "output": str(folder / "store"),
        "buckets": str(BUCKETS),
        "checkpoint": str(folder / "checkpoint"),
        "schema.file": str(schema.path),
        "tables": LIVE,
        "target": str(folder / "tables"),
    }
    run_tables(spark, options_of(TablesJobOptions, options), stop=threading.Event())


def later_ms() -> str:
    return str((time.time_ns() // 1000 + HOUR_US) // 1000)


def events(spark: SparkSession, folder: Path, schema: SourceSchema, name: str) -> list[Row]:
    table = schema.table(name)
    segments = find_segments(spark, str(folder / "archive"))
    decoder = SegmentDecoder(schema.schema.to_stored(), table.id, table.full_name)
    decoded, _ = segments.events(decoder)
    return read_cells(decoded).collect()


def fill(
    spark: SparkSession, folder: Path, schema: SourceSchema, name: str, events: Events
) -> None:
    rows = [(table, token, ck, json.dumps(event)) for table, token, ck, event in events.rows]
    frame = spark.createDataFrame(rows, "table string, token bigint, ck binary, event string")
    VersionStore(spark, str(folder / "store"), buckets=BUCKETS).append(frame)


def compare(
    spark: SparkSession,
    folder: Path,
    schema: SourceSchema,
    table: str,
    node: CassandraNode,
    complete_ms: str,
    **clock: Any,
) -> ComparisonReport:
    options = {
        "cassandra.hosts": node.address.host,
        "cassandra.port": str(node.address.cql_port),
        "consistency": "ALL",
        "output": str(folder / "store"),
        "buckets": str(BUCKETS),
        "schema.file": str(schema.path),
        "table": table,
        "state": str(folder / f"state-{table}"),
        "ranges": "14",
        "tasks": "1",
        "group.ranges": "8",
        "page.rows": "3",
        "expiry.margin.seconds": "0",
        # The faults are in writes just before the reads.
        "clock.skew.ms": "0",
        "write.timeout.ms": "0",
        "complete.until": complete_ms,
    }
    if table == LIVE:
        options["target"] = str(folder / "tables")
    return run(spark, options_of(CompareOptions, options), schema, **clock)

"""A bad deploy on a real node: its writes are excluded, and undone on the live table."""

import random
import shutil
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.rebuild.job import run
from spark_jobs.rebuild.options import RebuildOptions
from spark_jobs.reconcile.source_table import read_schema
from tests.support.node.deploys import SCHEMA, Write, writes
from tests.support.seeds import draw_seed
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings
from tests.support.spark.options import options_of

LIVE, EXPECTED = "shop.live", "shop.expected"
WRITES = (250, 60, 15)
_HOUR_US = 3_600_000_000


def select(node: CassandraNode, table: str) -> list[Any]:
    """All rows, and which values expire."""
    rows = node.execute(f"SELECT * FROM {table}")
    ttls = node.execute(f"SELECT p, c, ttl(v) AS v, ttl(w) AS w, ttl(d) AS d FROM {table}")
    expiring = [(row.p, row.c, *(each is not None for each in row[2:])) for row in ttls]
    return [*map(repr, rows), *expiring]


def execute(node: CassandraNode, folder: Path) -> int:
    """Load files of statements like cqlsh: one after the other."""
    statements = [
        line
        for file in sorted(folder.glob("part-*"))
        for line in file.read_text(encoding="utf-8").splitlines()
    ]
    for statement in statements:
        node.execute(statement)
    return len(statements)


@pytest.mark.servers
@pytest.mark.slow
def test_bad_deploy_is_excluded_and_undone(spark: SparkSession, tmp_path: Path) -> None:
    seed = draw_seed()
    rng = random.Random(seed)
    start_us = time.time_ns() // 1000 - _HOUR_US
    good, bad, later = (
        list(writes(rng, count, start_us + number * _HOUR_US // 4))
        for number, count in enumerate(WRITES)
    )
    settings = NodeSettings(commitlog_sync_period_ms=200, commitlog_segment_mib=1)
    with CassandraNode(tmp_path / "node", settings=settings) as node:
        for statement in SCHEMA:
            node.execute(statement)
        write(node, good, LIVE, EXPECTED)
        before = select(node, LIVE)
        write(node, bad, LIVE)
        write(node, later, LIVE, EXPECTED)
        expected = select(node, EXPECTED)
        assert select(node, LIVE) != expected
        node.close_segment()
        shutil.copytree(node.cdc_raw, tmp_path / "archive" / "node" / "archive")
        (tmp_path / "schema.cql").write_text(node.describe_schema())
        # Between the writes: the deletion of a replaced collection is a microsecond earlier.
        window = {"without.from": f"{bad[0].ts_us - 9}", "without.to": f"{bad[-1].ts_us + 9}"}

        rebuild(spark, tmp_path, **window, format="cql", **{"cql.mode": "undo"})
        undone = execute(node, tmp_path / "rebuilt")
        assert select(node, LIVE) == expected, f"seed {seed}"

        # The statements that undo the window do not belong to the window.
        node.close_segment()
        shutil.copytree(node.cdc_raw, tmp_path / "archive" / "undone" / "archive")
        node.execute(f"TRUNCATE {LIVE}")
        rebuild(spark, tmp_path, **window, format="cql")
        loaded = execute(node, tmp_path / "rebuilt")
        assert select(node, LIVE) == expected, f"seed {seed}"

        node.execute(f"TRUNCATE {LIVE}")
        at = {"at": f"{good[-1].ts_us + 9}"}
        rebuild(spark, tmp_path, **at, format="cql")
        execute(node, tmp_path / "rebuilt")
        assert select(node, LIVE) == before, f"seed {seed}"
        print(undone, "statements undo,", loaded, "load")

        rebuild(spark, tmp_path, **window, format="parquet")
        found = spark.read.parquet(str(tmp_path / "rebuilt")).select("p", "c", "st", "v", "w", "b")
        rows = node.execute(f"SELECT p, c, st, v, w, b FROM {EXPECTED}")
        assert sorted(map(plain, found.collect())) == sorted(map(plain, rows))


def plain(row: Sequence[Any]) -> str:
    return repr([bytes(each) if isinstance(each, bytearray) else each for each in row])


def write(node: CassandraNode, phase: Iterable[Write], *tables: str) -> None:
    for each in phase:
        for table in tables:
            node.execute(each.to(table))


def rebuild(spark: SparkSession, folder: Path, **settings: str) -> None:
    given = {
        "segments": str(folder / "archive"),
        "schema.file": str(folder / "schema.cql"),
        "table": LIVE,
        "target": str(folder / "rebuilt"),
    }
    options = options_of(RebuildOptions, given | settings)
    run(spark, options, read_schema(options.schema_file))

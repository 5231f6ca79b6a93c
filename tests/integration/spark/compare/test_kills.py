"""A comparison that is killed and continued: the same report, and few reads again."""

import json
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.compare.comparison import PROGRESS_FILE
from spark_jobs.compare.job import run
from spark_jobs.compare.options import CompareOptions
from spark_jobs.reconcile.source_table import read_schema
from spark_jobs.reconcile.store import VersionStore
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.java import java_home
from tests.support.servers.processes import ServerProcess, wait_until
from tests.support.spark.options import options_of

SCHEMA = (
    "CREATE KEYSPACE shop WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
    "CREATE TABLE shop.carts (k int PRIMARY KEY, v text) WITH cdc = true",
)
ROWS, RANGES, GROUP = 64, 16, 2
DEADLINE_S = 600


class StoppedError(Exception):
    """Ends a comparison between two groups."""


def stop_after_rows(what: str, done: int, _ranges: int) -> None:
    if what == "rows of ranges" and done >= GROUP:
        raise StoppedError


def groups(state: Path, phase: str) -> list[Any]:
    path = state / PROGRESS_FILE
    return list(json.loads(path.read_text())[phase]) if path.exists() else []


def scans(node: CassandraNode) -> int:
    """The pages of the table that the node has returned."""
    ((count,),) = node.execute(
        "SELECT count FROM system_views.coordinator_scan_latency"
        " WHERE keyspace_name = 'shop' AND table_name = 'carts'"
    )
    return int(count)


def comparable(values: Mapping[str, Any]) -> dict[str, Any]:
    times = ("read_from", "read_to")
    return {name: value for name, value in values.items() if name not in times}


@pytest.mark.servers
def test_a_killed_comparison_continues(
    spark: SparkSession, jars_directory: Path, java_options: str, tmp_path: Path
) -> None:
    with CassandraNode(tmp_path / "node") as node:
        for statement in SCHEMA:
            node.execute(statement)
        for k in range(ROWS):
            node.execute(f"INSERT INTO shop.carts (k, v) VALUES ({k}, 'v')")
        (tmp_path / "schema.cql").write_text(node.describe_schema())
        # Without events, so that each row is a loss, and each range is read twice.
        store = VersionStore(spark, str(tmp_path / "store"), buckets=1)
        store.append(
            spark.createDataFrame([], "table string, token bigint, ck binary, event string")
        )
        schema = read_schema(tmp_path / "schema.cql")

        def settings(state: str) -> dict[str, str]:
            return {
                "cassandra.hosts": node.address.host,
                "cassandra.port": str(node.address.cql_port),
                "output": str(tmp_path / "store"),
                "buckets": "1",
                "schema.file": str(schema.path),
                "table": "shop.carts",
                "state": str(tmp_path / state),
                "ranges": str(RANGES),
                "group.ranges": str(GROUP),
                "tasks": "1",
                "complete.until": "2100-01-01T00:00:00Z",
            }

        expected = run(spark, options_of(CompareOptions, settings("whole")), schema)
        assert (expected.verdict, expected.differing_ranges) == ("differs", RANGES)
        whole_scans = scans(node)

        state = tmp_path / "state"
        command = [sys.executable, "-m", "spark_jobs.compare"]
        for name, value in {
            **settings("state"),
            "rows.per.second": "2",
            "jars.dir": str(jars_directory),
            "spark.master": "local[2]",
            "spark.driver.memory": "1g",
            "spark.driver.extraJavaOptions": java_options,
        }.items():
            command += ["--set", f"{name}={value}"]
        job = ServerProcess(
            "compare", command, tmp_path / "job.log", environment={"JAVA_HOME": str(java_home(17))}
        )
        job.start()
        wait_until(
            lambda: len(groups(state, "read")) > 1,
            "two groups of ranges",
            deadline_s=DEADLINE_S,
            process=job,
        )
        assert job.pid is not None
        os.killpg(job.pid, signal.SIGKILL)
        assert job.wait() == -signal.SIGKILL
        assert 1 < len(groups(state, "read")) < RANGES // GROUP

        options = options_of(CompareOptions, settings("state"))
        with pytest.raises(StoppedError):
            run(spark, options, schema, on_read=stop_after_rows)
        assert len(groups(state, "stored")) == 1
        report = run(spark, options, schema)
        assert comparable(report.values()) == comparable(expected.values())
        again = scans(node) - 2 * whole_scans
        assert 0 <= again <= GROUP

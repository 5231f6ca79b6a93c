"""Three replicas, their agents and real watermarks: equal once complete, and losses are found."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from cassandra import ConsistencyLevel
from cassandra.query import SimpleStatement
from pyspark.sql import SparkSession

from spark_jobs.compare.job import run
from spark_jobs.compare.options import CompareOptions
from spark_jobs.compare.report import ComparisonReport
from spark_jobs.reconcile.source_table import read_schema
from spark_jobs.tables.job import run as run_tables
from spark_jobs.tables.options import TablesJobOptions
from spark_jobs.watermarks.job import run as run_watermarks
from spark_jobs.watermarks.options import WatermarkOptions
from tests.acceptance.kill.agent import Agent
from tests.support.servers.cassandra_settings import NodeSettings
from tests.support.servers.cluster import CassandraCluster
from tests.support.servers.kafka import KafkaBroker
from tests.support.servers.processes import wait_until
from tests.support.spark.options import options_of

pytestmark = [pytest.mark.servers, pytest.mark.timeout(3600)]

TABLE, TOPIC, MARKS = "shop.carts", "shop.shop.carts", "marks"
SCHEMA = (
    "CREATE KEYSPACE shop WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 3}",
    f"CREATE TABLE {TABLE} (k int, c int, v text, s set<int>, PRIMARY KEY (k, c)) WITH cdc = true",
)
DEADLINE_S = 900


class Pipeline:
    """Nodes, their agents, a store, a typed table and the jobs."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.folder = folder
        settings = NodeSettings(
            commitlog_sync_period_ms=200,
            heap_mib=384,
            yaml={"write_request_timeout": "60s", "range_request_timeout": "60s"},
        )
        self.cluster = CassandraCluster(folder / "cluster", settings=settings)
        self.broker = KafkaBroker(folder / "kafka", heap_mib=256)
        self.agents: list[Agent] = []

    def start(self) -> None:
        self.broker.start()
        for node in self.cluster.nodes:
            node.start()
        for statement in SCHEMA:
            self.cluster.nodes[0].execute(statement)
        self.broker.create_topic(TOPIC, 2)
        self.broker.create_topic(MARKS, 1)
        for number, node in enumerate(self.cluster.nodes):
            agent = Agent(
                self.folder / f"agent-{number}",
                node_yaml=node.yaml,
                bootstrap=self.broker.bootstrap,
                settings={
                    "topic.prefix": "shop",
                    "watermark.topic": MARKS,
                    "watermark.interval.ms": "500",
                    "cdc.dir.poll.interval.ms": 1000,
                },
            )
            self.agents.append(agent)
            agent.start()
        (self.folder / "schema.cql").write_text(self.cluster.nodes[0].describe_schema())

    def end(self) -> None:
        for agent in self.agents:
            agent.end()
        self.cluster.kill()
        if self.broker.is_running:
            self.broker.kill()

    def write(self, keys: range) -> None:
        """Write with different coordinators, so that replicas log in different orders."""
        for k in keys:
            session = self.cluster.nodes[k % 3].session()
            for c in range(3):
                text = f"INSERT INTO {TABLE} (k, c, v, s) VALUES ({k}, {c}, 'v{k}', {{{c}, 9}})"
                session.execute(SimpleStatement(text, consistency_level=ConsistencyLevel.QUORUM))
            delete = f"DELETE FROM {TABLE} WHERE k = {k} AND c = 1"
            session.execute(SimpleStatement(delete, consistency_level=ConsistencyLevel.QUORUM))

    def follow(self) -> None:
        self._run_tables()
        options = {
            "kafka.bootstrap.servers": self.broker.bootstrap,
            "topics": MARKS,
            "state": str(self.folder / "marks"),
            "store": str(self.folder / "store"),
            "write.consistency": "QUORUM",
            "write.timeout.ms": "0",
        }
        run_watermarks(self.spark, options_of(WatermarkOptions, options))

    def _run_tables(self) -> None:
        options = {
            "kafka.bootstrap.servers": self.broker.bootstrap,
            "topics": TOPIC,
            "output": str(self.folder / "store"),
            "buckets": "2",
            "checkpoint": str(self.folder / "checkpoint"),
            "schema.file": str(self.folder / "schema.cql"),
            "tables": TABLE,
            "target": str(self.folder / "tables"),
            "trigger": "available-now",
        }
        run_tables(self.spark, options_of(TablesJobOptions, options), stop=threading.Event())

    def compare(self) -> ComparisonReport:
        options = {
            "cassandra.hosts": ",".join(node.address.host for node in self.cluster.nodes),
            "cassandra.port": str(self.cluster.nodes[0].address.cql_port),
            "consistency": "QUORUM",
            "output": str(self.folder / "store"),
            "buckets": "2",
            "schema.file": str(self.folder / "schema.cql"),
            "table": TABLE,
            "target": str(self.folder / "tables"),
            "state": str(self.folder / "state"),
            "ranges": "16",
            "watermarks": str(self.folder / "marks"),
        }
        schema = read_schema(self.folder / "schema.cql")
        return run(self.spark, options_of(CompareOptions, options), schema)

    def compare_when_complete(self) -> ComparisonReport:
        """Repeat the jobs until the watermark has passed the reads."""
        reports = [self.compare()]

        def is_complete() -> bool:
            self.follow()
            reports.append(self.compare())
            return reports[-1].verdict != "not_there_yet"

        if reports[0].verdict == "not_there_yet":
            wait_until(is_complete, "the watermark to pass the reads", deadline_s=DEADLINE_S)
        return reports[-1]


@pytest.fixture
def pipeline(spark: SparkSession, tmp_path: Path) -> Iterator[Pipeline]:
    pipeline = Pipeline(spark, tmp_path)
    try:
        pipeline.start()
        yield pipeline
    finally:
        pipeline.end()


def test_compare_uses_watermarks_and_finds_losses(spark: SparkSession, pipeline: Pipeline) -> None:
    pipeline.write(range(30))
    pipeline.follow()
    pipeline.write(range(30, 40))
    began_us = time.time_ns() // 1000
    behind = pipeline.compare()
    assert behind.verdict == "not_there_yet", behind.message()
    report = pipeline.compare_when_complete()
    print(report.message())
    assert (report.verdict, report.live_rows) == ("equal", 80)
    # The rows were read once, before the store was complete.
    assert report.read_from_us < began_us + 600_000_000
    assert report.complete_until_us is not None
    assert report.complete_until_us >= report.read_to_us
    assert report.target is not None
    assert (report.target.found.verdict, report.target.typed_rows) == ("equal", 80)

    (token,) = pipeline.cluster.nodes[0].execute(
        f"SELECT token(k) FROM {TABLE} WHERE k = 5 LIMIT 1"
    )
    spark.sql(f"DELETE FROM delta.`{pipeline.folder / 'store'}` WHERE token = {token[0]}")
    report = pipeline.compare_when_complete()
    print(report.message())
    assert report.verdict == "differs"
    assert {(str(row.cause), row.key) for row in report.found.rows} == {
        ("loss", f'"k" = 5 AND "c" = {c}') for c in (0, 2)
    }

"""Archived segments in S3 and GCS (`make test-spark-releases`).

The session has Hadoop's clients on its class path, so the other tests do not collect this file.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.session import create_session
from spark_jobs.source.segment_decoder import SegmentDecoder
from spark_jobs.source.segments import archived_segments, unread_ranges
from tests.support.segments.archive import agents_events, archive, recording
from tests.support.segments.segment_reading import schema_of
from tests.support.servers.gcs import GcsServer
from tests.support.servers.java import java_home
from tests.support.servers.s3 import S3Server
from tests.support.spark.remote_stores import BUCKET, gcs_settings, hadoop_clients, s3_settings

SCENARIO = recording("5.0/three-nodes/node1")
Put = Callable[[str, bytes], None]
"""Stores an object of the bucket by name."""

pytestmark = pytest.mark.servers


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    with S3Server() as server:
        server.client.create_bucket(Bucket=BUCKET)
        yield server


@pytest.fixture(scope="module")
def gcs() -> Iterator[GcsServer]:
    with GcsServer() as server:
        server.create_bucket(BUCKET)
        yield server


@pytest.fixture(scope="module")
def spark(
    s3: S3Server, gcs: GcsServer, jars_directory: Path, java_options: str
) -> Iterator[SparkSession]:
    os.environ["JAVA_HOME"] = str(java_home(17))
    settings = {
        **s3_settings(s3),
        **gcs_settings(gcs),
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": java_options,
        "spark.driver.extraClassPath": os.pathsep.join(map(str, hadoop_clients())),
        "spark.sql.shuffle.partitions": "2",
    }
    session = create_session("stores", jars=jars_directory, master="local[2]", settings=settings)
    yield session
    session.stop()


def read(session: SparkSession, folder: Path, put: Put, scheme: str) -> None:
    """Store segments, read them with Spark, and compare their events with the agent's."""
    archive({"node1": SCENARIO}, folder)
    for path in sorted(folder.rglob("CommitLog-*")):
        put(f"segments/{path.relative_to(folder)}", path.read_bytes())
    schema = schema_of(SCENARIO)
    table = next(each for each in schema.tables() if each.kind == "table")
    name = f"{table.keyspace}.{table.name}"
    segments = archived_segments(session, f"{scheme}://{BUCKET}/segments")
    assert segments.count == len(list(folder.rglob("CommitLog-*.log")))
    events, observation = segments.events(SegmentDecoder(schema.to_stored(), table.id, name))
    found = sorted((bytes(row.id), row.ts_us, row.kind) for row in events.collect())
    expected = agents_events(SCENARIO, folder)[table.id]
    assert found == sorted((event_id, ts_us, kind) for event_id, ts_us, kind, _ in expected)
    assert found
    assert unread_ranges(observation) == []


def test_segments_in_s3(spark: SparkSession, s3: S3Server, tmp_path: Path) -> None:
    def put(name: str, content: bytes) -> None:
        s3.client.put_object(Bucket=BUCKET, Key=name, Body=content)

    read(spark, tmp_path, put, "s3a")


def test_segments_in_gcs(spark: SparkSession, gcs: GcsServer, tmp_path: Path) -> None:
    def put(name: str, content: bytes) -> None:
        gcs.put(BUCKET, name, content)

    read(spark, tmp_path, put, "gs")

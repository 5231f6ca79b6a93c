"""Archived segments in S3 and GCS (`make test-spark-releases`).

The class path of the session contains Hadoop's clients, so the other tests do not collect this
file.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.session import create_session
from spark_jobs.source.segments import SegmentDecoder, find_segments, unread_ranges
from tests.support.segments.archive import agents_events, archive, recording
from tests.support.segments.segment_reading import schema_of
from tests.support.servers.gcs import GcsServer
from tests.support.servers.java import java_home
from tests.support.servers.maven import Dependency, artifact, class_path
from tests.support.servers.s3 import CREDENTIALS, S3Server

BUCKET = "archive"
_GCS = "com.google.cloud.bigdataoss:gcs-connector:hadoop3-2.2.26:jar:shaded"
_HADOOP = "3.4.2"
_SDK = "2.29.52"
# pyspark contains these jars, most of them newer.
_PROVIDED = ("io.netty:*", "org.slf4j:*", "commons-codec:*", "commons-logging:*")


def hadoop_clients() -> list[Path]:
    """The jars of S3A, without the bundle of all AWS services (600 MB), and of the connector."""
    sdk = [
        Dependency("software.amazon.awssdk", name, _SDK, _PROVIDED)
        for name in ("s3", "s3-transfer-manager", "sts")
    ]
    excluded = (*_PROVIDED, "software.amazon.awssdk:bundle")
    s3a = class_path(
        "s3a", [Dependency("org.apache.hadoop", "hadoop-aws", _HADOOP, excluded), *sdk]
    )
    return [*sorted(s3a.glob("*.jar")), artifact(_GCS)]


def s3_settings(server: S3Server) -> dict[str, str]:
    """Settings of S3A."""
    return {
        "spark.hadoop.fs.s3a.endpoint": server.url,
        "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
        "spark.hadoop.fs.s3a.access.key": CREDENTIALS["AWS_ACCESS_KEY_ID"],
        "spark.hadoop.fs.s3a.secret.key": CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
    }


def gcs_settings(server: GcsServer) -> dict[str, str]:
    """Settings of the connector."""
    return {
        "spark.hadoop.fs.gs.impl": "com.google.cloud.hadoop.fs.gcs.GoogleHadoopFileSystem",
        "spark.hadoop.fs.gs.storage.root.url": f"{server.url}/",
        "spark.hadoop.fs.gs.project.id": "tests",
        "spark.hadoop.fs.gs.auth.null.enable": "true",
        "spark.hadoop.fs.gs.auth.service.account.enable": "false",
    }


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
    segments = find_segments(session, f"{scheme}://{BUCKET}/segments")
    assert segments.count == len(list(folder.rglob("CommitLog-*.log")))
    events, observation = segments.events(SegmentDecoder(schema.to_stored(), table.id, name))
    found = sorted((bytes(row.id), row.ts_us, row.kind) for row in events.collect())
    expected = agents_events(SCENARIO, folder)[table.id]
    assert found == sorted((event_id, ts_us, kind) for event_id, ts_us, kind, _ in expected)
    assert found
    assert unread_ranges(observation) == []


def test_spark_reads_segments_in_s3(spark: SparkSession, s3: S3Server, tmp_path: Path) -> None:
    def put(name: str, content: bytes) -> None:
        s3.client.put_object(Bucket=BUCKET, Key=name, Body=content)

    read(spark, tmp_path, put, "s3a")


def test_spark_reads_segments_in_gcs(spark: SparkSession, gcs: GcsServer, tmp_path: Path) -> None:
    def put(name: str, content: bytes) -> None:
        gcs.put(BUCKET, name, content)

    read(spark, tmp_path, put, "gs")

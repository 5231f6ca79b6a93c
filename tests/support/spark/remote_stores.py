"""Hadoop's clients of S3 and GCS, and archived segments in test servers."""

from pathlib import Path

from tests.support.servers.gcs import GcsServer
from tests.support.servers.maven import Dependency, artifact, class_path
from tests.support.servers.s3 import CREDENTIALS, S3Server

BUCKET = "archive"
_GCS = "com.google.cloud.bigdataoss:gcs-connector:hadoop3-2.2.26:jar:shaded"
_HADOOP = "3.4.2"
_SDK = "2.29.52"
# In the jars of pyspark, most of them newer.
_PROVIDED = ("io.netty:*", "org.slf4j:*", "commons-codec:*", "commons-logging:*")


def hadoop_clients() -> list[Path]:
    """The jars of S3A, without the bundle of all services of AWS (600 MB), and of the connector."""
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
    """The settings of S3A."""
    return {
        "spark.hadoop.fs.s3a.endpoint": server.url,
        "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
        "spark.hadoop.fs.s3a.access.key": CREDENTIALS["AWS_ACCESS_KEY_ID"],
        "spark.hadoop.fs.s3a.secret.key": CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
    }


def gcs_settings(server: GcsServer) -> dict[str, str]:
    """The settings of the connector."""
    return {
        "spark.hadoop.fs.gs.impl": "com.google.cloud.hadoop.fs.gcs.GoogleHadoopFileSystem",
        "spark.hadoop.fs.gs.storage.root.url": f"{server.url}/",
        "spark.hadoop.fs.gs.project.id": "tests",
        "spark.hadoop.fs.gs.auth.null.enable": "true",
        "spark.hadoop.fs.gs.auth.service.account.enable": "false",
    }

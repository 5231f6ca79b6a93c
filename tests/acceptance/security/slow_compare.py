"""`spark_jobs.compare` against a node that requires a client certificate and a password."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.compare.job import run
from spark_jobs.compare.options import CompareOptions
from spark_jobs.compare.report import ComparisonReport
from spark_jobs.errors import JobError, mapped_error
from spark_jobs.reconcile.source_table import read_schema
from spark_jobs.reconcile.store import VersionStore
from tests.support.node.cassandra_logins import LOGINS, logged_in
from tests.support.node.cassandra_tls import encryption
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings
from tests.support.servers.schema_text import describe_schema
from tests.support.servers.secure_broker import Stores
from tests.support.spark.options import options_of

pytestmark = [pytest.mark.servers, pytest.mark.timeout(2400)]

STATEMENTS = (
    "CREATE KEYSPACE shop WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
    "CREATE TABLE shop.carts (k int PRIMARY KEY, v text) WITH cdc = true",
    *(f"INSERT INTO shop.carts (k, v) VALUES ({k}, 'v')" for k in range(20)),
    "CREATE ROLE compare WITH PASSWORD = 's3cret' AND LOGIN = true",
)
GRANT = "GRANT SELECT ON TABLE shop.carts TO compare"


@pytest.fixture(scope="module")
def secure_node(
    tmp_path_factory: pytest.TempPathFactory, stores: Stores
) -> Iterator[CassandraNode]:
    """TLS is optional, so that the test can connect without it."""
    options = encryption(stores, stores.key("node"), optional=True)
    settings = NodeSettings(yaml={**LOGINS, **options})
    with CassandraNode(tmp_path_factory.mktemp("node"), settings=settings) as node:
        yield node


def test_compare_requires_grant_password_and_certificate(
    spark: SparkSession, secure_node: CassandraNode, stores: Stores, tmp_path: Path
) -> None:
    address = secure_node.address
    admin = logged_in(secure_node)
    for statement in STATEMENTS:
        admin.execute(statement)
    (tmp_path / "schema.cql").write_text(describe_schema(admin, server_side=True))
    store = VersionStore(spark, str(tmp_path / "store"), buckets=1)
    store.append(spark.createDataFrame([], "table string, token bigint, ck binary, event string"))

    certificate = stores.key("compare").pem(tmp_path / "client.pem")

    def compare(**changed: str | None) -> ComparisonReport:
        settings = {
            "cassandra.hosts": address.host,
            "cassandra.port": str(address.cql_port),
            "cassandra.username": "compare",
            "cassandra.password": "s3cret",
            "cassandra.ssl.enabled": "true",
            "cassandra.ssl.ca.path": str(stores.ca_pem),
            "cassandra.ssl.certificate.path": str(certificate),
            "output": str(tmp_path / "store"),
            "buckets": "1",
            "schema.file": str(tmp_path / "schema.cql"),
            "table": "shop.carts",
            "state": str(tmp_path / "state"),
            "ranges": "2",
            "complete.until": "2100-01-01T00:00:00Z",
            **{name.replace("_", "."): value for name, value in changed.items()},
        }
        chosen = {name: value for name, value in settings.items() if value is not None}
        return run(spark, options_of(CompareOptions, chosen), read_schema(tmp_path / "schema.cql"))

    rejected: list[tuple[dict[str, str | None], str]] = [
        ({}, "no SELECT permission"),
        ({"cassandra_password": "wrong"}, "incorrect"),
        ({"cassandra_ssl_certificate_path": None}, "NoHostAvailable"),
    ]
    for changed, text in rejected:
        with pytest.raises(Exception, match=text) as raised:
            compare(**changed)
        error = mapped_error(raised.value)
        assert isinstance(error, JobError), raised.value
        assert "Check `cassandra.hosts`" in str(error)
    admin.execute(GRANT)
    assert compare().live_rows == 20
    admin.cluster.shutdown()

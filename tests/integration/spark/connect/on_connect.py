"""DataFrame functions in a session of Spark Connect (`make test-spark-releases`).

A process has either Connect sessions or classic ones, so the other tests do not collect this
file.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import IntegerType, StringType

from spark_jobs.follow import Position, changes_between
from spark_jobs.follow.delta_tables import ExpiryIndex
from spark_jobs.reconcile import VersionStore, reconcile, select_tables, table_at
from spark_jobs.session import LOCAL_SETTINGS, SETTINGS
from spark_jobs.session_conf import job_description
from spark_jobs.tables import read_table
from spark_jobs.tables.commit_position import CommitPosition
from spark_jobs.tables.target import apply_batch
from tests.support.servers.java import java_home
from tests.support.servers.processes import (
    ServerProcess,
    accepts_connections,
    free_port,
    wait_until,
)
from tests.support.spark.forms import frame, named
from tests.support.spark.typed_tables import (
    APP,
    NAME,
    TABLE_ID,
    Change,
    batch_of,
    new_table,
    row_id,
    stored_rows,
    target_options,
)
from tests.support.spark.view_cases import EVENTS, ID, NOW_S, TABLE, row, schema

_HOST = "127.0.0.1"
_CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"


pytestmark = pytest.mark.servers


@pytest.fixture(scope="module")
def remote(
    jars_directory: Path, java_options: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SparkSession]:
    folder, port = tmp_path_factory.mktemp("connect"), free_port(_HOST)
    settings = {
        **SETTINGS,
        **LOCAL_SETTINGS,
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": java_options,
        "spark.connect.grpc.binding.address": _HOST,
        "spark.connect.grpc.binding.port": str(port),
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    home = Path(pyspark.__file__).parent
    command: list[str | Path] = [
        *(home / "bin" / "spark-submit", "--master", "local[2]", "--class", _CLASS),
        *("--jars", ",".join(map(str, sorted(jars_directory.glob("*.jar"))))),
        *(part for each in settings.items() for part in ("--conf", "=".join(each))),
        "spark-internal",
    ]
    environment = {
        "JAVA_HOME": str(java_home(17)),
        "SPARK_HOME": str(home),
        "PYSPARK_PYTHON": sys.executable,
        # The server imports the functions of `mapInArrow`.
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    log = folder / "connect.log"
    server = ServerProcess("Connect", command, log, directory=folder, environment=environment)
    server.start()
    try:
        wait_until(lambda: accepts_connections(_HOST, port), "Connect", process=server)
        session = SparkSession.builder.remote(f"sc://{_HOST}:{port}").getOrCreate()
        yield session
        session.stop()
    finally:
        server.kill()


def test_table_and_changes_are_read_by_spark_connect(remote: SparkSession, tmp_path: Path) -> None:
    described = schema(tmp_path, TABLE)
    table = described.table("shop.carts")
    store = VersionStore(remote, str(tmp_path / "store"), buckets=2)
    with job_description(remote, "append"):
        reconcile(frame(remote, tmp_path / "a", EVENTS), store, select_tables(described))
    items = [found["item"] for found in table_at(store, described, table, NOW_S).collect()]
    assert sorted(items) == [7, 8, 9]
    before = Position(store.version(), NOW_S)
    later = [named(ID, row(10, [], live={"ts": 5}))]
    reconcile(frame(remote, tmp_path / "b", later), store, select_tables(described))
    after = Position(store.version(), NOW_S)
    first = changes_between(store, described, table, None, before, each=False).collect()
    assert sorted((each["op"], each["after"]["item"]) for each in first) == [
        *(("c", 7), ("c", 8), ("c", 9))
    ]
    (change,) = changes_between(store, described, table, before, after, each=True).collect()
    assert (change["op"], change["after"]["item"]) == ("c", 10)
    store.truncate(table.id, 1 << 40)
    assert table_at(store, described, table, NOW_S).isEmpty()


def test_typed_table_is_written_by_spark_connect(remote: SparkSession, tmp_path: Path) -> None:
    columns = {"k": IntegerType(), "v": StringType()}
    options = target_options(remote, tmp_path, "delta")
    table = new_table(remote, options, columns)
    batches: tuple[list[Change], ...] = (
        [(1, "c", {"k": 1, "v": "a"}), (2, "c", {"k": 2, "v": "b"})],
        [(1, "u", {"k": 1, "v": "c"}), (2, "d", None), (3, "c", {"k": 3, "v": "d"})],
    )
    before = None
    for number, changes in enumerate(batches):
        position = CommitPosition(APP, TABLE_ID, number, NOW_S)
        apply_batch(table, batch_of(remote, columns, changes), position, before)
        before = position
    assert stored_rows(read_table(remote, options, NAME)) == {
        row_id(1): {"k": 1, "v": "c"},
        row_id(3): {"k": 3, "v": "d"},
    }


def test_expiry_index_is_written_by_spark_connect(remote: SparkSession, tmp_path: Path) -> None:
    index = ExpiryIndex(remote, str(tmp_path / "expiries"))
    keys = [(1, b"a", 3600), (2, None, 7200)]
    index.add("t", remote.createDataFrame(keys, "token BIGINT, ck BINARY, next_expiry_s BIGINT"))
    assert [found["token"] for found in index.due("t", 0, 3600).collect()] == [1]
    index.forget("t", 7200)
    assert index.next_due_s("t", 0) == 7200

"""The job rejects targets of other programs and tables before it writes to them."""

import threading
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from sidecar.errors import ConfigError
from spark_jobs.changes.job import require_own_targets, run
from spark_jobs.changes.options import ChangesJobOptions
from spark_jobs.reconcile.source_table import SourceTable, read_schema
from spark_jobs.reconcile.store import Batch, VersionStore
from tests.support.spark.options import options_of

SCHEMA = """
CREATE TABLE shop.orders (id int PRIMARY KEY)
    WITH ID = 5a1c395e-b41f-11e5-9f22-ba0be0483c18 AND cdc = true;
CREATE TABLE old.orders (id int PRIMARY KEY)
    WITH ID = 5a1c395e-b41f-11e5-9f22-ba0be0483c19 AND cdc = true;
"""
EVENTS = "table STRING, token BIGINT, ck BINARY, event STRING"
GOOD = {
    "kafka.bootstrap.servers": "127.0.0.1:1",
    "checkpoint": "/c",
    "output": "/store",
    "schema.file": "/schema.cql",
    "topic.prefix": "c1",
}
AGENTS = "would go to `c1.old.orders`, a topic of the agents"
BAD = {
    "a read topic": ({"topics": "a,c1.old.orders"}, (), AGENTS),
    "a pattern": ({"topics.pattern": r"c1\..*"}, (), AGENTS),
    "a topic of the store": ({}, ("c1.old.orders",), AGENTS),
    "one topic": (
        {"topic.template": "{prefix}.{table}"},
        (),
        "`topic.template` gives old.orders and shop.orders the same target `c1.orders`",
    ),
    "one table": (
        {"sink": "delta", "changes.table": "/changes/{table}"},
        (),
        "`changes.table` gives old.orders and shop.orders the same target `/changes/orders`",
    ),
}
ACCEPTED = {
    "no topic is known": {},
    "topics with other names": {"topics": "agents"},
    "another cluster": {"topics": "c1.old.orders", "sink.kafka.bootstrap.servers": "127.0.0.1:2"},
    "no topic is written": {
        "topics": "c1.old.orders",
        "sink": "delta",
        "changes.table": "/changes/{keyspace}/{table}",
    },
}


@pytest.fixture
def tables(tmp_path: Path) -> tuple[SourceTable, ...]:
    path = tmp_path / "schema.cql"
    path.write_text(SCHEMA)
    return tuple(sorted(read_schema(path).tables, key=lambda table: table.full_name))


@pytest.mark.parametrize("name", BAD)
def test_shared_change_targets_are_rejected(name: str, tables: tuple[SourceTable, ...]) -> None:
    settings, stored, expected = BAD[name]
    options = options_of(ChangesJobOptions, GOOD | settings)
    with pytest.raises(ConfigError) as raised:
        require_own_targets(options, tables, stored)
    assert expected in str(raised.value)


@pytest.mark.parametrize("name", ACCEPTED)
def test_separate_change_targets_are_accepted(name: str, tables: tuple[SourceTable, ...]) -> None:
    require_own_targets(options_of(ChangesJobOptions, GOOD | ACCEPTED[name]), tables)


def test_topic_of_store_is_rejected(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "schema.cql").write_text(SCHEMA)
    store = VersionStore(spark, str(tmp_path / "store"), buckets=1)
    store.append(spark.createDataFrame([], EVENTS), Batch("a", 0, {"c1.shop.orders": {0: 1}}))
    settings = GOOD | {
        "checkpoint": str(tmp_path / "checkpoint"),
        "output": store.path,
        "buckets": "1",
        "schema.file": str(tmp_path / "schema.cql"),
    }
    options = options_of(ChangesJobOptions, settings)
    with pytest.raises(ConfigError, match=r"`c1\.shop\.orders`, a topic of the agents"):
        run(spark, options, stop=threading.Event())
    assert not (tmp_path / "checkpoint").exists()

"""The job rejects targets before it writes to them."""

import threading
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from sidecar.errors import ConfigError
from spark_jobs.changes.job import run
from spark_jobs.changes.options import ChangesJobOptions
from spark_jobs.reconcile.store import Batch, VersionStore
from tests.support.spark.options import options_of

SCHEMA = """CREATE TABLE shop.orders (id int PRIMARY KEY)
WITH ID = 5a1c395e-b41f-11e5-9f22-ba0be0483c18 AND cdc = true;"""
EVENTS = "table STRING, token BIGINT, ck BINARY, event STRING"


def test_a_topic_that_the_store_has_events_of(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "schema.cql").write_text(SCHEMA)
    store = VersionStore(spark, str(tmp_path / "store"), buckets=1)
    store.append(spark.createDataFrame([], EVENTS), Batch("a", 0, {"c1.shop.orders": {0: 1}}))
    settings = {
        "kafka.bootstrap.servers": "127.0.0.1:1",
        "checkpoint": str(tmp_path / "checkpoint"),
        "output": store.path,
        "buckets": "1",
        "schema.file": str(tmp_path / "schema.cql"),
        "topic.prefix": "c1",
    }
    options = options_of(ChangesJobOptions, settings)
    with pytest.raises(ConfigError, match=r"`c1\.shop\.orders`, a topic of the agents"):
        run(spark, options, stop=threading.Event())
    assert not (tmp_path / "checkpoint").exists()

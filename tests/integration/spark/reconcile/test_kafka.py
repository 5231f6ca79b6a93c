"""The job with a real broker and Delta Lake."""

from pathlib import Path

import orjson
import pytest
from pyspark.sql import SparkSession

from spark_jobs.errors import CheckpointError
from spark_jobs.reconcile.job import open_store, run
from spark_jobs.reconcile.options import ReconcileOptions
from spark_jobs.reconcile.source_table import read_schema
from spark_jobs.reconcile.store.commits import latest_offsets
from tests.oracle.algebra import Tables
from tests.oracle.reference.recordings import OWN
from tests.support.servers.kafka import KafkaBroker
from tests.support.spark.forms import expected, shown
from tests.support.spark.options import dotted, options_of
from tests.support.spark.recorded import three_copies
from tests.support.spark.records import send

PARTITIONS = 3
RECORDING = "5.0/three-nodes"
LATER_S = 4_000_000_000

pytestmark = pytest.mark.servers


def options(broker: KafkaBroker, folder: Path, **settings: str) -> ReconcileOptions:
    given = {
        "kafka.bootstrap.servers": broker.bootstrap,
        "topics.pattern": "shop\\..*",
        "checkpoint": str(folder / "checkpoint"),
        "output": str(folder / "versions"),
        "buckets": "2",
        "schema.file": str(OWN / RECORDING / "node1" / "schema.cql"),
        **dotted(settings),
    }
    return options_of(ReconcileOptions, given)


def test_topics_become_tables(spark: SparkSession, tmp_path: Path, broker: KafkaBroker) -> None:
    """A backfill in several micro-batches, and later events in the next run."""
    records = three_copies([RECORDING])
    tables = Tables()
    early, late = records[: len(records) // 2], records[len(records) // 2 :]
    chosen = options(broker, tmp_path, max_offsets_per_trigger=str(len(early) // 2 + 1))
    store, schema = open_store(spark, chosen), read_schema(chosen.schema_file)
    count = 0
    for part, is_in_one in ((early, False), (late, True)):
        send(broker, part, partitions=PARTITIONS)
        for record in part:
            tables.apply(orjson.loads(record.value or b""))
        again = options(broker, tmp_path, trigger="once") if is_in_one else chosen
        stats = run(spark, again)
        assert stats.records == len(part)
        assert (stats.micro_batches == 1) is is_in_one
        assert shown(store, schema, LATER_S) == expected(tables, LATER_S)
        offsets = latest_offsets(store.commits_after(0))
        count += len(part)
        assert sum(sum(ends.values()) for ends in offsets.values()) == count
    elsewhere = options(broker, tmp_path, output=str(tmp_path / "elsewhere"))
    with pytest.raises(CheckpointError, match=f"its `output` is `{tmp_path}/versions`, not "):
        run(spark, elsewhere)

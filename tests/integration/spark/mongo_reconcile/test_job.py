"""The job with a checkpoint and with a real broker."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.errors import CheckpointError, InputError
from spark_jobs.mongo_reconcile.document_table import DocumentTable
from spark_jobs.mongo_reconcile.job import run, start_merging, summary
from spark_jobs.mongo_reconcile.options import MongoJobOptions
from spark_jobs.progress import follow
from tests.support.servers.kafka import KafkaBroker
from tests.support.spark.mongo_topic import TOPIC, Collection, envelope, record
from tests.support.spark.options import dotted, options_of
from tests.support.spark.records import RecordStream, send


def job_options(folder: Path, **settings: str) -> MongoJobOptions:
    """Options by name, with `_` for the dots."""
    base = {
        "kafka.bootstrap.servers": "127.0.0.1:1",
        "topics": TOPIC,
        "checkpoint": str(folder / "checkpoint"),
        "table.path": str(folder / "table"),
    }
    return options_of(MongoJobOptions, {**base, **dotted(settings)})


def shop() -> Collection:
    collection = Collection()
    for number in range(4):
        collection.tick(is_new_second=True)
        collection.write(str(number), f'{{"n": {number}}}')
    collection.tick(is_new_second=True)
    collection.delete("0", has_tombstone=True)
    collection.write("1", '{"n": "new"}')
    return collection


def test_an_uncommitted_batch_is_repeated(spark: SparkSession, tmp_path: Path) -> None:
    collection = shop()
    options = job_options(tmp_path)
    documents = DocumentTable(spark, options.table_path)
    stream = RecordStream(spark, tmp_path / "records")
    stream.add(collection.records[:5])
    follow(start_merging(stream.read(), documents, options), lambda _: None)
    stream.add(collection.records[5:])
    follow(start_merging(stream.read(), documents, options), lambda _: None)
    before = documents.rows().orderBy("id").collect()
    commits = Path(options.checkpoint) / "commits"
    last = max(int(file.name) for file in commits.iterdir() if file.name.isdigit())
    for file in (commits / str(last), commits / f".{last}.crc"):
        file.unlink(missing_ok=True)
    ran: list[Mapping[str, Any]] = []
    follow(start_merging(stream.read(), documents, options), ran.append)
    assert sum(progress["numInputRows"] for progress in ran) > 0
    assert documents.rows().orderBy("id").collect() == before
    assert summary(documents.counts()) == "shop.cust: 3 documents, 1 deletes remembered"


@pytest.mark.servers
def test_a_real_broker(spark: SparkSession, tmp_path: Path) -> None:
    """Two runs, then a record that is not a change."""
    collection = shop()
    with KafkaBroker(tmp_path / "kafka") as broker:
        options = job_options(
            tmp_path,
            kafka_bootstrap_servers=broker.bootstrap,
            metrics_json_file=str(tmp_path / "stats.json"),
            metrics_prometheus_file=str(tmp_path / "stats.prom"),
        )
        send(broker, collection.records[:5], partitions=2)
        assert run(spark, options) == 5
        send(broker, collection.records[5:], partitions=2)
        read = run(spark, options)
        assert read == len(collection.records) - 5
        assert json.loads((tmp_path / "stats.json").read_text()) == {"records": read}
        lines = (tmp_path / "stats.prom").read_text().splitlines()
        assert f"cdc_mongo_reconcile_records_total {read}.0" in lines
        assert 'cdc_spark_records_behind{spark_job="mongo-reconcile"} 0.0' in lines
        documents = DocumentTable(spark, options.table_path)
        shown = documents.current("shop.cust").collect()
        assert {key: document for key, document, _ in shown} == collection.documents
        send(broker, [record(0, "9", envelope("t", None, 5))])
        with pytest.raises(InputError, match=rf"{TOPIC}/\d/\d+ is not a change of a document"):
            run(spark, options)
        shutil.copytree(options.checkpoint, tmp_path / "other")
        other = job_options(
            tmp_path,
            kafka_bootstrap_servers=broker.bootstrap,
            checkpoint=str(tmp_path / "other"),
            order_by="topic",
        )
        with pytest.raises(CheckpointError, match="order"):
            run(spark, other)

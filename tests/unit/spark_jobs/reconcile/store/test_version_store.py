"""The Delta table of a version store."""

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.errors import JobError
from spark_jobs.reconcile.store import Batch, Commit, VersionStore

BUCKETS = 2


def make_store(spark: SparkSession, folder: Path) -> VersionStore:
    return VersionStore(spark, str(folder / "store"), buckets=BUCKETS, max_uncompacted_files=1)


def frame(spark: SparkSession, *events: tuple[str, int, bytes | None, str]) -> DataFrame:
    return spark.createDataFrame(events, "table STRING, token BIGINT, ck BINARY, event STRING")


def texts(rows: DataFrame) -> list[str]:
    return sorted(row["event"] for row in rows.collect())


def test_batch_is_appended_once_with_offsets(spark: SparkSession, tmp_path: Path) -> None:
    store = make_store(spark, tmp_path)
    batch = Batch("app", 0, {"shop.a": {0: 3}})
    events = frame(spark, ("t", 1, b"r", "one"), ("t", 2, None, "two"), ("u", 1, b"", "three"))
    store.append(events, batch)
    store.append(frame(spark, ("t", 1, b"r", "repeated")), batch)
    assert texts(store.rows("t")) == ["one", "two"]
    assert list(store.commits_after(0)) == [
        Commit(1, "append", {"t": 2, "u": 1}, {"shop.a": {0: 3}})
    ]
    assert store.version() == 1
    assert store.uncompacted_files() == {("t", 0): 1, ("t", 1): 1, ("u", 1): 1}


def test_store_version_shows_its_own_rows(spark: SparkSession, tmp_path: Path) -> None:
    store = make_store(spark, tmp_path)
    store.append(frame(spark, ("t", 1, b"r", "one")))
    store.append(frame(spark, ("t", 1, b"r", "two"), ("u", 1, b"r", "other")))
    store.truncate("t", 5)
    store.truncate("t", 3)
    assert texts(store.rows("t", 1)) == ["one"]
    assert texts(store.rows("t")) == ["one", "two"]
    assert texts(store.added("t", 1, 4)) == ["two"]
    assert texts(store.added("t", 4, 4)) == []
    assert (store.size().files, store.size().rows) == (5, 5)
    assert store.size().bytes > 0
    assert [store.truncated_us("t", version) for version in (2, 3, 4)] == [None, 5, 5]
    assert store.truncated_us("u") is None
    assert (store.truncated_tables(2), store.truncated_tables(4)) == ({}, {"t": 5})
    assert [commit.kind for commit in store.commits_after(2)] == ["truncate", "truncate"]


def test_added_rows_exclude_replaced_buckets(spark: SparkSession, tmp_path: Path) -> None:
    store = make_store(spark, tmp_path)
    store.append(frame(spark, ("t", 1, b"r", "one"), ("t", 2, b"r", "even"), ("u", 1, b"r", "u")))
    base = spark.createDataFrame(
        [("t", 1, "base", 1, b"r", None, b"s", None), ("t", 1, "history", 1, b"r", None, b"o", 9)],
        store.rows("t").schema,
    )
    store.replace(base, "compact", [("t", 1)], ("events", "base", "history"))
    assert store.added("t", 1, 2).isEmpty()
    states = [(row["level"], row["event"], row["state"]) for row in store.rows("t").collect()]
    assert sorted(states, key=str) == [("base", None, b"s"), ("events", "even", None)]
    assert store.levels("t").count() == 3
    assert texts(store.rows("u")) == ["u"]
    assert store.uncompacted_files() == {("t", 0): 1, ("u", 1): 1}


def test_bucket_count_of_store_cannot_change(spark: SparkSession, tmp_path: Path) -> None:
    store = make_store(spark, tmp_path)
    with pytest.raises(JobError, match="was created with `buckets=2`, not 4"):
        VersionStore(spark, store.path, buckets=4)


def test_unrelated_delta_table_is_rejected(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(1).write.format("delta").save(str(tmp_path / "store"))
    with pytest.raises(JobError, match=r"Read the topics again with a new `output`"):
        make_store(spark, tmp_path)

"""The expiry index."""

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.follow import delta_tables
from spark_jobs.follow.delta_tables import ExpiryIndex
from spark_jobs.session_conf import session_conf

HOUR_S = 3600


def changes(spark: SparkSession, *rows: tuple[int, bytes | None, int | None]) -> DataFrame:
    return spark.createDataFrame(rows, "token BIGINT, ck BINARY, next_expiry_s BIGINT")


def keys(due: DataFrame) -> list[tuple[int, bytes | None]]:
    found = ((row["token"], row["ck"]) for row in due.collect())
    return sorted((token, None if ck is None else bytes(ck)) for token, ck in found)


def test_an_index_stays_small(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An hour has few files, and a past one none."""
    monkeypatch.setattr(delta_tables, "_RETENTION", "interval 0 hours")
    index = ExpiryIndex(spark, str(tmp_path))
    with session_conf(spark, {"spark.databricks.delta.autoCompact.minNumFiles": "3"}):
        for token in range(4):
            index.add("t", changes(spark, (token, None, 9 * HOUR_S)))
    index.add("t", changes(spark, (9, None, HOUR_S)))
    assert len(spark.read.format("delta").load(str(tmp_path)).inputFiles()) == 3
    index.forget("t", 9 * HOUR_S)
    assert keys(index.due("t", 0, 9 * HOUR_S)) == [(token, None) for token in range(4)]
    assert len(list(tmp_path.rglob("part-*.parquet"))) == 2
    statements: list[str] = []
    monkeypatch.setattr(spark, "sql", statements.append)
    index.forget("t", 9 * HOUR_S + 1)
    assert statements == []


def test_due_keys_are_found_and_forgotten(spark: SparkSession, tmp_path: Path) -> None:
    index = ExpiryIndex(spark, str(tmp_path))
    assert index.next_due_s("t", 0) is None
    index.add("t", changes(spark, (1, b"a", HOUR_S), (2, None, HOUR_S + 1), (3, b"c", None)))
    index.add("t", changes(spark, (4, b"d", 3 * HOUR_S)))
    index.add("u", changes(spark, (5, b"e", HOUR_S)))
    index = ExpiryIndex(spark, str(tmp_path))
    assert keys(index.due("t", HOUR_S - 1, HOUR_S)) == [(1, b"a")]
    assert keys(index.due("t", HOUR_S, 3 * HOUR_S)) == [(2, None), (4, b"d")]
    assert [index.next_due_s("t", after_s) for after_s in (0, HOUR_S, HOUR_S + 1, 3 * HOUR_S)] == [
        HOUR_S,
        HOUR_S + 1,
        3 * HOUR_S,
        None,
    ]
    index.forget("t", 3 * HOUR_S)
    assert keys(index.due("t", 0, 9 * HOUR_S)) == [(4, b"d")]
    assert keys(index.due("u", 0, 9 * HOUR_S)) == [(5, b"e")]

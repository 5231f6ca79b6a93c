"""The rows of the version store, merged up to a time or without a window."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from sidecar.errors import ConfigError
from spark_jobs.rebuild.options import RebuildOptions
from spark_jobs.rebuild.sources import Sources, open_sources
from spark_jobs.rebuild.window import Window
from spark_jobs.reconcile.compaction import compact
from spark_jobs.reconcile.source_table import SourceSchema
from spark_jobs.reconcile.store import VersionStore
from spark_jobs.reconcile.visible_rows import merged, merger_of
from spark_jobs.source.events import read_cells
from tests.support.spark.forms import EventValue, frame
from tests.support.spark.options import options_of
from tests.support.spark.view_cases import ID, TABLE, cell, row, schema

NOW_S = 5_000_000_000
NOW_US = NOW_S * 1_000_000
OLD = row(7, [cell("ckv", b"old", 10), cell("f", b"", 10)], live={"ts": 10})
BAD = row(7, [cell("ckv", b"bad", 20)])
LATER = row(8, [cell("ckv", b"later", 30)])


class Store:
    """A version store with one event per commit; some events are compacted."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.folder = folder
        self.schema = schema(folder, TABLE)
        self.store = VersionStore(spark, str(folder / "store"), buckets=2, max_uncompacted_files=0)

    def append(self, *values: EventValue) -> None:
        folder = self.folder / f"values-{self.store.version()}"
        self.store.append(read_cells(frame(self.spark, folder, values)))

    def compact(self, history_s: int = 0) -> None:
        assert compact(self.store, self.schema, NOW_S, history_s)

    def sources(self, window: Window, settings: Mapping[str, str]) -> Sources:
        base = {
            "output": self.store.path,
            "buckets": "2",
            "schema.file": "schema.cql",
            "table": "shop.carts",
            "target": "/nowhere",
            "at": "1",
        }
        options = options_of(RebuildOptions, {**base, **settings})
        return open_sources(
            self.spark, options, self.schema, self.schema.table("shop.carts"), window
        )

    def values(self, window: Window, **settings: str) -> dict[int, str]:
        """The column `ckv` of the rebuilt rows by `item`."""
        named = {name.replace("_", "."): value for name, value in settings.items()}
        found = self.sources(window, named)
        return shown(found, self.schema, window)


def shown(sources: Sources, described: SourceSchema, window: Window) -> dict[int, str]:
    merger = merger_of(described, described.table("shop.carts"))
    merge = partial(merger.typed, **window.merge_options(sources.truncations_us))
    rows = merged(sources.rows, merge, merger.typed_schema).collect()
    return {each["item"]: each["ckv"] for each in rows}


@pytest.fixture
def store(spark: SparkSession, tmp_path: Path) -> Store:
    return Store(spark, tmp_path)


UNTIL = Window(NOW_US, until_us=15)
WITHOUT = Window(NOW_US, without_us=(15, 25))


def test_values_dropped_by_compaction_are_rebuilt(store: Store) -> None:
    store.append(OLD, row(7, [cell("ckv", b"older", 5)]))
    store.compact(history_s=NOW_S)
    version = str(store.store.version())
    store.append(BAD, LATER)
    store.compact(history_s=NOW_S)
    # Read from the first commit, from a version before the window, and from superseded states.
    for settings in ({}, {"store_version": version}, {"history_retention_seconds": str(NOW_S)}):
        assert store.values(WITHOUT, **settings) == {7: "old", 8: "later"}
    # A truncation in the window is excluded too.
    store.store.truncate(ID, 20)
    truncations_us = store.sources(WITHOUT, {}).truncations_us
    assert truncations_us == [20]
    assert WITHOUT.truncated_us(truncations_us) is None


def test_missing_store_is_not_created(spark: SparkSession, tmp_path: Path) -> None:
    options = options_of(
        RebuildOptions,
        {
            "output": str(tmp_path / "none"),
            "schema.file": "schema.cql",
            "table": "shop.carts",
            "target": "/nowhere",
            "at": "1",
        },
    )
    described = schema(tmp_path, TABLE)
    with pytest.raises(ConfigError, match="is not a Delta table"):
        open_sources(spark, options, described, described.table("shop.carts"), UNTIL)
    assert not (tmp_path / "none").exists()

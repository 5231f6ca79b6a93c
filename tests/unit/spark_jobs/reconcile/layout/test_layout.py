"""All layouts return the same versions."""

import random
import shutil
from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.errors import JobError
from spark_jobs.reconcile.layout.append import AppendLayout
from spark_jobs.reconcile.layout.merge import MergeLayout
from spark_jobs.reconcile.layout.protocol import Batch, Layout
from spark_jobs.reconcile.versions import PLACE, bucket_events, latest
from spark_jobs.reconcile.visible_rows import visible_rows
from spark_jobs.source.cells import read_cells
from tests.oracle.merge.event_strategies import event_values
from tests.support.spark.forms import EventValue, expected, frame, named, shown
from tests.support.spark.merge_examples import examples, merged
from tests.support.spark.versions import to_versions

BUCKETS = 2
BATCHES = 3
MakeLayout = Callable[[SparkSession, Path], Layout]


def append_layout(session: SparkSession, path: Path) -> Layout:
    return AppendLayout(session, str(path), buckets=BUCKETS, max_uncompacted_files=1)


def merge_layout(session: SparkSession, path: Path) -> Layout:
    return MergeLayout(session, str(path), buckets=BUCKETS, max_uncompacted_files=1)


@pytest.fixture(scope="module")
def values() -> list[EventValue]:
    """Random events of two tables, with the partitions of many random tables."""
    return [_moved(value) for value in examples(st.lists(event_values(), max_size=14), 60)]


def _moved(value: EventValue) -> EventValue:
    """The event in the table `t` or `u`, in a partition named after its table."""
    cells = value["cells"]
    number = int(cells["id"])
    key = number.to_bytes(4, "big") + b64decode(cells["pk"])
    moved = {"id": "tu"[number % 2], "pk": b64encode(key).decode(), "token": number}
    return {"cells": cells | moved}


def versions(spark: SparkSession, folder: Path, values: list[EventValue]) -> DataFrame:
    return to_versions(read_cells(frame(spark, folder, values)), BUCKETS)


def held(versions: DataFrame) -> list[str]:
    """Sorted versions without the raw clusterings, which may differ in bytes if they are equal."""
    return sorted(map(repr, versions.select(*PLACE, "win").collect()))


@dataclass(frozen=True)
class Filled:
    """A table with all versions, from shuffled copies in several batches."""

    make: MakeLayout
    folder: Path
    layout: Layout
    compacted: int

    def copy(self, spark: SparkSession, folder: Path) -> Layout:
        """A copy of the table that a test may change."""
        shutil.copytree(self.folder, folder)
        return self.make(spark, folder)


@pytest.fixture(scope="module", params=[append_layout, merge_layout])
def filled(
    spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
    values: list[EventValue],
    request: pytest.FixtureRequest,
) -> Filled:
    folder = tmp_path_factory.mktemp("layout")
    make: MakeLayout = request.param
    thrice = values * 3
    random.Random(4).shuffle(thrice)
    layout = make(spark, folder / "table")
    compacted = 0
    for number in range(BATCHES):
        cells = read_cells(frame(spark, folder / str(number), thrice[number::BATCHES]))
        layout.write_events(bucket_events(cells, BUCKETS), Batch("a", number))
        compacted += layout.compact()
    return Filled(make, folder / "table", layout, compacted)


def test_order_batches_repetitions_and_compaction_do_not_matter(
    spark: SparkSession, tmp_path: Path, values: list[EventValue], filled: Filled
) -> None:
    once = held(latest(versions(spark, tmp_path / "once", values)))
    assert filled.compacted
    assert held(filled.layout.latest_versions()) == once
    assert held(latest(filled.layout.stored_versions(["t"]))) == [
        each for each in once if "table='t'" in each
    ]


def test_a_stored_batch_is_skipped(
    spark: SparkSession, tmp_path: Path, values: list[EventValue], filled: Filled
) -> None:
    layout = filled.copy(spark, tmp_path / "table")
    # Different versions under a known number show that the layout writes nothing.
    others = [named("w", value) for value in values[:20]]
    other = versions(spark, tmp_path / "others", others).cache()
    layout.write_versions(other, Batch("a", BATCHES - 1))
    assert layout.stored_versions(["w"]).isEmpty()
    layout.write_versions(other, Batch("b", 0))
    assert held(layout.latest_versions(["w"])) == held(latest(other))


def test_a_purge_changes_no_visible_row(
    spark: SparkSession, tmp_path: Path, values: list[EventValue], filled: Filled
) -> None:
    before_s, now_s = 12, 13
    layout = filled.copy(spark, tmp_path / "table")
    layout.purge("t", before_s)
    kept = layout.latest_versions().cache()
    assert shown(visible_rows(kept, now_s)) == expected(merged(values), now_s)
    is_purgeable = (F.col("win.rank") > 0) & (F.col("win.ldt") < before_s)
    assert kept.where(is_purgeable).select("table").distinct().collect() == [("u",)]
    of_table = kept.where(F.col("table") == "t")
    assert not of_table.where(F.col("win.rank") == 2).isEmpty()
    # The first purge removed covered versions together with their deletions.
    layout.purge("t", before_s)
    assert held(layout.latest_versions()) == held(kept)


def test_buckets_and_layout_cannot_change(spark: SparkSession, tmp_path: Path) -> None:
    append_layout(spark, tmp_path)
    with pytest.raises(JobError, match="was created with `buckets=2`, not 4"):
        AppendLayout(spark, str(tmp_path), buckets=4)
    with pytest.raises(JobError, match="was created with `layout=append`, not merge"):
        MergeLayout(spark, str(tmp_path), buckets=2)

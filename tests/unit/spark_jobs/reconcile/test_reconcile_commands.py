"""The commands view, truncate and purge on a version store."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support.fixtures.spark import RunModule
from tests.support.spark import far_timestamps
from tests.support.spark.forms import filled_store
from tests.support.spark.view_cases import ANEW, EVENTS, ID, NOW_S, schema

pytestmark = pytest.mark.usefixtures("root_logger")
BUCKETS = 2
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(spark: SparkSession, tmp_path: Path, run_module: RunModule) -> Run:
    """Runs a command on the table. Returns its exit code, stdout and stderr."""

    def run_command(name: str, **settings: Any) -> tuple[int, str, str]:
        given = {
            "output": tmp_path / "store",
            "buckets": BUCKETS,
            "schema.file": tmp_path / "schema.cql",
            "table": "shop.carts",
            "spark.sql.shuffle.partitions": spark.conf.get("spark.sql.shuffle.partitions"),
            **{option.replace("_", "."): value for option, value in settings.items()},
        }
        return run_module(f"spark_jobs.reconcile.{name}", given)

    return run_command


def test_view_reflects_truncations_and_purges(
    spark: SparkSession, tmp_path: Path, run: Run
) -> None:
    store = filled_store(spark, tmp_path, schema(tmp_path, ANEW), EVENTS, buckets=BUCKETS)
    place = tmp_path / "view"

    def written() -> dict[int, tuple[Any, ...]]:
        code, said, _ = run("view", view_output=place, at_s=NOW_S)
        rows = spark.read.format("delta").load(str(place)).collect()
        assert (code, said) == (
            0,
            f"Wrote {len(rows)} rows of shop.carts at second {NOW_S} to {place}\n",
        )
        return {row["item"]: (row["owner"], row["s"], row["old"]) for row in rows}

    assert written() == {7: ("x", [-1, 2], None), 9: ("x", None, "after")}
    assert run("truncate", at_us=5)[:2] == (
        0,
        "Deleted all writes of shop.carts up to write time 5\n",
    )
    before = store.rows(ID).count()
    code, said, _ = run("purge", gc_grace_seconds=0, lag_seconds=0)
    assert (code, said.startswith("Purged deletions and expired values of shop.carts")) == (0, True)
    assert store.rows(ID).count() < before
    assert written() == {9: (None, None, "after")}
    code, said, told = run("purge", buckets=4)
    assert (code, said) == (1, "")
    assert "was created with `buckets=2`, not 4" in told


def test_view_reports_row_with_far_timestamp(spark: SparkSession, tmp_path: Path, run: Run) -> None:
    """CQL allows times beyond 64-bit microseconds; the view contains the other rows."""
    far_timestamps.fill(spark, tmp_path, buckets=BUCKETS)
    code, said, _ = run(
        "view", table=far_timestamps.NAME, view_output=tmp_path / "view", at_s=NOW_S
    )
    assert code == 0
    assert "Wrote 2 rows of shop.t" in said
    assert f"Left out 1 rows whose values have no typed form: {far_timestamps.REJECTED}" in said
    found = spark.read.format("delta").load(str(tmp_path / "view"))
    assert sorted(row["k"] for row in found.collect()) == far_timestamps.FITTING


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"table": "shop.nothing"}, "shop.nothing"),
        ({"layout": "merge"}, "cannot be `merge`: the store has one layout. Remove `layout`, and "),
    ],
)
def test_mismatch_with_store_table_is_an_error(
    tmp_path: Path, run: Run, settings: dict[str, str], sentence: str
) -> None:
    schema(tmp_path, ANEW)
    view = {"view_output": tmp_path / "view"}
    for name, own in (("view", view), ("truncate", {}), ("purge", {})):
        code, said, told = run(name, **own, **settings)
        assert (code, said) == (2, "")
        assert told.startswith(f"spark_jobs.reconcile.{name}: ")
        assert sentence in told


def test_view_help_lists_options() -> None:
    """A separate process detects Python's warning about a module that its package already
    imported."""
    module = "spark_jobs.reconcile.view"
    command = [sys.executable, "-W", "error::RuntimeWarning", "-m", module, "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "view.output" in done.stdout
    assert "schema.file" in done.stdout

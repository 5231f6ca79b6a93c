"""A job that follows a store reports after each step, also after a failure."""

import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import pytest
from pyspark.sql import SparkSession

from sidecar.errors import ConfigError
from spark_jobs.column_names import ColumnNameError
from spark_jobs.follow import Follower
from spark_jobs.follow.job import follow_store
from spark_jobs.follow.stats import TableStats
from spark_jobs.tables.options import TablesJobOptions
from tests.support.spark.options import options_of


class Steps:
    """A follower that stops its job in the third step, or fails there."""

    def __init__(self, stop: threading.Event, *, fails: bool) -> None:
        self.rejected: dict[str, ColumnNameError] = {}
        self._stop = stop
        self._fails = fails
        self._count = 0

    @property
    def stats(self) -> Mapping[str, TableStats]:
        return {"shop.orders": TableStats(batches=self._count)}

    def step(self) -> int:
        self._count += 1
        if self._count == 3:
            self._stop.set()
            if self._fails:
                raise KeyError
        return 1


def run(folder: Path, *, fails: bool, rejected: str = "") -> tuple[list[str], str, int]:
    """The shown lines, the metrics, and the batches in the JSON file."""
    options = options_of(
        TablesJobOptions,
        {
            "checkpoint": str(folder / "checkpoint"),
            "output": str(folder / "store"),
            "target": str(folder / "tables"),
            "schema.file": str(folder / "schema.cql"),
            "trigger": "processing-time",
            "trigger.interval.ms": "1",
            "metrics.json.file": str(folder / "job.json"),
            "metrics.prometheus.file": str(folder / "job.prom"),
        },
    )
    stop, shown = threading.Event(), list[str]()
    steps = Steps(stop, fails=fails)
    if rejected:
        steps.rejected[rejected] = ColumnNameError(f"{rejected}: a name.")
    follower = cast(Follower, steps)
    session = cast(SparkSession, None)
    try:
        batches = follow_store(session, options, follower, stop=stop, show=shown.append)
        assert batches == 3
    except KeyError:
        assert fails
    except ConfigError as error:
        assert error.problems == (f"{rejected}: a name.",)
    document = json.loads((folder / "job.json").read_text())
    return shown, (folder / "job.prom").read_text(), document["tables"]["shop.orders"]["batches"]


@pytest.mark.parametrize("fails", [False, True])
def test_follower_job_reports_each_step(tmp_path: Path, fails: bool) -> None:
    (tmp_path / "schema.cql").touch()
    shown, metrics, batches = run(tmp_path, fails=fails)
    assert [line.split(" ")[0] for line in shown] == ["1", "2", "3"]
    assert f'cdc_spark_run_failed{{spark_job="tables"}} {float(fails)}' in metrics
    assert 'cdc_follow_batches_total{spark_job="tables",table="shop.orders"} 3.0' in metrics
    assert batches == 3


def test_rejected_table_fails_run_after_others_are_followed(tmp_path: Path) -> None:
    (tmp_path / "schema.cql").touch()
    shown, metrics, batches = run(tmp_path, fails=False, rejected="shop.bad")
    assert all(line.endswith("; rejected: shop.bad") for line in shown)
    assert 'cdc_spark_run_failed{spark_job="tables"} 1.0' in metrics
    assert batches == 3

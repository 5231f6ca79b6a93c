"""A follower that lags behind VACUUM."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.errors import JobError, mapped_error
from spark_jobs.follow import Position, changes_between
from spark_jobs.reconcile.compaction import compact
from spark_jobs.reconcile.job import reconcile
from spark_jobs.reconcile.selected_tables import select_tables
from spark_jobs.reconcile.store import VersionStore
from spark_jobs.session_conf import session_conf
from tests.support.spark.forms import frame
from tests.support.spark.view_cases import EVENTS, NOW_S, TABLE, schema

VACUUM_SETTINGS = {
    "spark.databricks.delta.retentionDurationCheck.enabled": "false",
    # The number of tasks that list files.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
}


def test_the_error_tells_to_fill_the_target_anew(spark: SparkSession, tmp_path: Path) -> None:
    store = VersionStore(spark, str(tmp_path / "store"), buckets=1, max_uncompacted_files=1)
    described = schema(tmp_path, TABLE)
    (table,) = described.tables
    first = store.version() + 1
    for number, events in enumerate((EVENTS[:2], EVENTS[2:])):
        values = frame(spark, tmp_path / f"events-{number}", events)
        reconcile(values, store, select_tables(described))
    assert compact(store, described, NOW_S) == 1
    with session_conf(spark, VACUUM_SETTINGS):
        spark.sql(f"VACUUM delta.`{store.path}` RETAIN 0 HOURS")
    before, after = Position(first, NOW_S), Position(store.version(), NOW_S)
    with pytest.raises(Exception, match="FILE_NOT_EXIST") as raised:
        changes_between(store, described, table, before, after, each=True).collect()
    error = mapped_error(raised.value)
    assert isinstance(error, JobError), raised.value
    assert "fill its target anew" in str(error)

"""Recordings of real nodes: Spark shows the rows of the algebra."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.reconcile.versions import latest
from spark_jobs.reconcile.visible_rows import visible_rows
from spark_jobs.source.cells import read_cells
from tests.oracle.algebra import Tables
from tests.oracle.reference.recordings import OWN, scenarios
from tests.support.merged_recordings import read, seconds
from tests.support.spark.forms import by_table, expected, frame, named, shown
from tests.support.spark.versions import to_versions


@pytest.mark.slow
def test_spark_and_algebra_agree_on_every_recorded_table(
    spark: SparkSession, tmp_path: Path
) -> None:
    """All nodes of a cluster, and all stages of a node, form one table."""
    values = []
    tables = Tables()
    now_s: dict[str, list[int]] = {}
    for scenario in (each for each in scenarios() if each.root == OWN):
        cluster = scenario.folder.parent if "node" in scenario.folder.name else scenario.folder
        found = read(scenario, tmp_path)
        for event in found:
            table_id = f"{cluster.relative_to(scenario.root)}/{event.value['cells']['id']}"
            value = named(table_id, event.value)
            values.append(value)
            tables.apply(value)
            now_s[table_id] = []
        for table_id in now_s:
            now_s[table_id] = now_s[table_id] or seconds(found)
    events = frame(spark, tmp_path / "values", values)
    versions = latest(to_versions(read_cells(events), 4)).cache()
    for choice in (0, -1):
        chosen = {table_id: found[choice] for table_id, found in now_s.items()}
        assert shown(visible_rows(versions, by_table(chosen))) == expected(tables, chosen)

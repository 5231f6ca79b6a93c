"""The plan of a MERGE statement."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import IntegerType, StringType

from spark_jobs.session_conf import session_conf
from spark_jobs.tables.format.typed_table import MERGE_SETTINGS, merge_statement, net_changes
from tests.support.spark.typed_tables import changes_frame, new_table, target_options

COLUMNS = {"k": IntegerType(), "v": StringType()}


@pytest.mark.parametrize("table_format", ["iceberg"])
def test_merge_broadcasts_changes_to_row_id_scan(
    spark: SparkSession, tmp_path: Path, table_format: str
) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    table = new_table(session, target_options(session, tmp_path, table_format), COLUMNS)
    frame = changes_frame(session, COLUMNS, [(1, "u", {"k": 1, "v": "a"})]).persist()
    # The follower has already read the changes, so Spark knows their size.
    assert frame.count() == 1
    changes = net_changes(frame, COLUMNS, {"c": 0, "u": 1, "d": 0})
    changes.frame.createOrReplaceTempView("changes")
    statement = merge_statement(table.sql_name, changes, "changes")
    with session_conf(session, MERGE_SETTINGS):
        (plan,) = session.sql(f"EXPLAIN {statement}").collect()
    frame.unpersist()
    joins = [line for line in plan[0].splitlines() if "Join" in line]
    assert len(joins) == 1
    assert "BroadcastHashJoin" in joins[0]
    assert "Inner" in joins[0]
    (scan,) = [line for line in plan[0].splitlines() if "BatchScan" in line]
    assert "cdc_row_id" in scan
    assert "v#" not in scan

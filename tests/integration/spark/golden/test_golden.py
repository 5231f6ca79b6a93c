"""The small form of the golden test; `make test-cluster` runs the large one."""

import secrets
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from tests.integration.spark.golden.cluster_harness import ClusterHarness
from tests.integration.spark.golden.proof import prove
from tests.integration.spark.golden.workload import SMALL


@pytest.mark.servers
@pytest.mark.timeout(1800)
def test_spark_gives_each_event_once_and_the_tables_that_cassandra_selects(
    spark: SparkSession, tmp_path: Path
) -> None:
    seed = secrets.randbits(32)
    print(f"seed {seed}")
    with ClusterHarness(tmp_path, Random(seed), segment_mib=SMALL.segment_mib) as cluster:
        report = prove(cluster, spark, seed, SMALL, print)
    print(report)
    report.require_none()
    assert report.written > 10 * sum(report.unanswered.values())
    assert report.in_logs[3] > 0
    assert report.records > report.logged > report.events > report.early_events > 0
    assert report.events >= report.events_by_cell > 0
    assert report.rows > 0

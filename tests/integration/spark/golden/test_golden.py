"""The small form of the golden test with nodes; `make test-cluster` runs the large one."""

import secrets
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from tests.integration.spark.golden.cluster_harness import ClusterHarness
from tests.integration.spark.golden.proof import (
    EARLY_EVENTS,
    EVENTS,
    EVENTS_BY_CELL,
    LOGGED,
    RECORDS,
    ROWS,
    UNANSWERED,
    WRITTEN,
    prove,
)
from tests.integration.spark.golden.workload import SMALL


@pytest.mark.servers
@pytest.mark.slow
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
    figures = report.figures
    assert figures[WRITTEN] > 10 * figures[UNANSWERED]
    assert report.in_logs[3] > 0
    assert figures[RECORDS] > figures[LOGGED] > figures[EVENTS] > figures[EARLY_EVENTS] > 0
    assert figures[EVENTS] >= figures[EVENTS_BY_CELL] > 0
    assert figures[ROWS] > 0

"""The small form of the golden test with nodes; `make test-cluster` runs the large one."""

from pathlib import Path
from random import Random

import pytest
from cassandra import ReadFailure
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
from tests.integration.spark.golden.workload import LARGE, SMALL, workload
from tests.support.seeds import draw_seed
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings
from tests.support.servers.processes import wait_until
from tests.support.workloads.scenario import create_keyspace

_MOMENTS = "moments.t"
_FAULT = "Invalid flags found deserializing DeletionTime"


def _partition_deletions_before_1970(texts: list[str]) -> set[str]:
    """Deletions with negative timestamps that contain no clustering column."""
    return {
        text
        for text in texts
        if f"DELETE FROM {_MOMENTS} USING TIMESTAMP -" in text
        and " c " not in text.rpartition(" WHERE ")[2]
    }


@pytest.mark.parametrize("writes_oa", [False, True])
def test_only_capable_nodes_get_deletions_before_1970(writes_oa: bool) -> None:
    found = [write.text for write in workload(7, LARGE, writes_oa=writes_oa).writes]
    assert len(_partition_deletions_before_1970(found)) == (0 if writes_oa else 2)
    assert any(f"UPDATE {_MOMENTS} USING TIMESTAMP -" in text for text in found)


@pytest.mark.slow
@pytest.mark.servers
def test_cassandra_cannot_read_early_deletions_in_format_oa(tmp_path: Path) -> None:
    """Cassandra can read them in `nb`, the format of `CASSANDRA_4`. If Cassandra fixes this,
    `workload` needs no exception."""
    log = tmp_path / "NONE" / "log" / "node.log"
    query = f"SELECT * FROM {_MOMENTS}"
    for mode in ("CASSANDRA_4", "NONE"):
        settings = NodeSettings(storage_compatibility_mode=mode)
        with CassandraNode(tmp_path / mode, settings=settings) as node:
            for text in (
                create_keyspace("moments"),
                f"CREATE TABLE {_MOMENTS} (p int, c int, v text, PRIMARY KEY (p, c))",
                f"INSERT INTO {_MOMENTS} (p, c, v) VALUES (1, 1, 'v') USING TIMESTAMP 0",
                f"DELETE FROM {_MOMENTS} USING TIMESTAMP -1 WHERE p = 1",
            ):
                node.execute(text)
            assert len(node.execute(query)) == 1
            node.flush("moments")
            if mode == "CASSANDRA_4":
                assert len(node.execute(query)) == 1
            else:
                with pytest.raises(ReadFailure):
                    node.execute(query)
                wait_until(lambda: _FAULT in log.read_text(), _FAULT)


@pytest.mark.servers
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_spark_tables_equal_the_tables_of_cassandra(spark: SparkSession, tmp_path: Path) -> None:
    seed = draw_seed()
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

"""The jobs on a standalone cluster (`make test-submit`)."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.integration.spark.submitted.proof import RUNS, SCHEMA, prove
from tests.integration.spark.submitted.standalone import StandaloneCluster
from tests.support.servers.kafka import KafkaBroker

pytestmark = [pytest.mark.servers, pytest.mark.timeout(3000)]


def test_on_a_standalone_cluster(
    broker: KafkaBroker, spark: SparkSession, jars_directory: Path, tmp_path: Path
) -> None:
    with StandaloneCluster(tmp_path / "cluster") as cluster:

        def submit(options: list[str], main: Path, config: Path) -> None:
            cluster.submit(options, main, config, jars_directory)

        prove(submit, spark, broker, tmp_path, str(SCHEMA))
        assert cluster.executors() >= 2 * RUNS

"""The jobs on YARN in cluster mode (`make test-submit`)."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.integration.spark.submitted.proof import RUNS, SCHEMA, prove
from tests.integration.spark.submitted.yarn import YarnCluster
from tests.support.servers.kafka import KafkaBroker

pytestmark = [pytest.mark.servers, pytest.mark.timeout(3000)]


def test_on_yarn(
    broker: KafkaBroker, spark: SparkSession, jars_directory: Path, tmp_path: Path
) -> None:
    with YarnCluster(tmp_path / "cluster") as cluster:

        def submit(options: list[str], main: Path, config: Path) -> None:
            cluster.submit(options, main, config, jars_directory, SCHEMA)

        prove(submit, spark, broker, tmp_path, SCHEMA.name)
        assert cluster.executors() >= RUNS

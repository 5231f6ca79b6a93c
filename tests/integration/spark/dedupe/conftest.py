"""A dedupe query over a stream of files, with a sink and a checkpoint of its own."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.spark.dedupe_stream import Stream


@pytest.fixture
def stream(spark: SparkSession, tmp_path: Path) -> Stream:
    return Stream(spark, tmp_path)

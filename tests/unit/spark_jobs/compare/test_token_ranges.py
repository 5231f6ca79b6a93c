"""Equal token ranges of the ring."""

import random
from itertools import pairwise

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.compare.token_ranges import range_of, token_ranges

MIN_TOKEN, MAX_TOKEN = -(1 << 63), (1 << 63) - 1


@pytest.mark.parametrize(("at_least", "ranges"), [(1, 1), (2, 2), (3, 4), (64, 64), (1000, 1024)])
def test_ranges_cover_the_ring_once(at_least: int, ranges: int) -> None:
    found = token_ranges(at_least)
    assert [each.number for each in found] == list(range(ranges))
    assert (found[0].after, found[-1].to) == (MIN_TOKEN, MAX_TOKEN)
    assert all(one.to == other.after for one, other in pairwise(found))


def test_each_token_is_in_its_range(spark: SparkSession) -> None:
    seed = 7
    tokens = [random.Random(seed + each).randint(MIN_TOKEN + 1, MAX_TOKEN) for each in range(50)]
    for ranges in (1, 2, 64):
        found = token_ranges(ranges)
        tokens_here = [*tokens, *(each.to for each in found)]
        frame = spark.createDataFrame([(each,) for each in tokens_here], "token bigint")
        rows = frame.select("token", range_of(F.col("token"), ranges).alias("range")).collect()
        for row in rows:
            of = found[row["range"]]
            assert of.after < row["token"] <= of.to

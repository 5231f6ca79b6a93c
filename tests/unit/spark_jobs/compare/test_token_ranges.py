"""Equal token ranges of the ring."""

import random
from itertools import pairwise

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.compare.token_ranges import range_of, token_ranges

COUNTS = (1, 2, 64)
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
    ends = [each.to for ranges in COUNTS for each in token_ranges(ranges)]
    frame = spark.createDataFrame([(each,) for each in (*tokens, *ends)], "token bigint")
    columns = [range_of(F.col("token"), ranges).alias(str(ranges)) for ranges in COUNTS]
    for row in frame.select("token", *columns).collect():
        for ranges in COUNTS:
            found = token_ranges(ranges)[row[str(ranges)]]
            assert found.after < row["token"] <= found.to

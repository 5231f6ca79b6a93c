"""The last micro-batch, from Spark's progress."""

from spark_jobs.progress import MicroBatch, micro_batch

KAFKA = {"metrics": {"maxOffsetsBehindLatest": "12", "avgOffsetsBehindLatest": "4.0"}}


def test_the_partition_that_is_furthest_behind_counts() -> None:
    other = {"metrics": {"maxOffsetsBehindLatest": "3"}}
    assert micro_batch({"batchDuration": 1500, "sources": [other, KAFKA]}) == MicroBatch(1.5, 12)


def test_other_sources_do_not_know_it() -> None:
    sources = [{"metrics": {}}, {"metrics": None}, {}]
    assert micro_batch({"batchDuration": 20, "sources": sources}) == MicroBatch(0.02, None)

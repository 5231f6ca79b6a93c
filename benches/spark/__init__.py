"""Shared parts of the Spark benchmarks: a session, its CPU time, topics."""

from benches.spark.session import Cost, SparkUnderTest, events_of_replicas, fill_topic

__all__ = ["Cost", "SparkUnderTest", "events_of_replicas", "fill_topic"]

"""Versions straight from parsed events, without a layout."""

from collections.abc import Collection

from pyspark.sql import DataFrame

from spark_jobs.reconcile.versions import (
    bucket_events,
    explode_events,
    explode_events_with_shards,
)


def to_versions(cells: DataFrame, buckets: int, counters: Collection[str] = ()) -> DataFrame:
    """The versions in events. The arguments are those of `bucket_events`."""
    events = bucket_events(cells, buckets, counters)
    return explode_events_with_shards(events) if counters else explode_events(events)

"""Drops further replica copies of each event.

The watermark that limits the state uses processing time. With write time or Kafka time it would
follow the fastest replica, and Spark would silently drop the only copy of an event from a slow one.
With processing time no row is ever late: a late copy may come through again, but no event is lost.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.dedupe.identity import event_identity, with_cell_identity
from spark_jobs.dedupe.options import DedupeOptions

# Spark stores these names in the state schema of a checkpoint.
_SEEN_AT, _EVENT, _CELL = "_seen_at", "_event", "_cell"
_DEFAULTS = DedupeOptions()


def dedupe(
    events: DataFrame, options: DedupeOptions = _DEFAULTS, *, seen_at: Column | None = None
) -> DataFrame:
    """One copy of each event of `spark_jobs.source.events`, with the same columns.

    `events` may be a stream. `seen_at` is the time of a row for the TTL, by default the time of
    its micro-batch. The state of a stream has a key of 16 bytes for each event of the last
    `ttl_ms`, and with `identity="cell"` another for each cell. Later copies count as new events.
    """
    columns = events.columns
    if events.isStreaming:
        now = F.current_timestamp() if seen_at is None else seen_at
        delay = f"{_watermark_delay_ms(options)} milliseconds"
        events = events.withColumn(_SEEN_AT, now).withWatermark(_SEEN_AT, delay)
    if options.identity == "cell":
        # Several rows of one event can pass this step; the next step reduces them to one.
        events = _first(with_cell_identity(events, _CELL), _CELL)
    return _first(events.withColumn(_EVENT, event_identity()), _EVENT).select(*columns)


def _first(rows: DataFrame, key: str) -> DataFrame:
    if rows.isStreaming:
        return rows.dropDuplicatesWithinWatermark([key])
    return rows.dropDuplicates([key])


def _watermark_delay_ms(options: DedupeOptions) -> int:
    # The watermark is one delay before now. A key expires one delay after it was seen, when the
    # watermark passes that time: after two delays.
    return options.ttl_ms // 2

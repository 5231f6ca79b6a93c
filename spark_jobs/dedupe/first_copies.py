"""Events → the first copy of each.

Copies are known by a watermark on *processing time*. On write time or Kafka time the watermark
follows the fastest replica, and the only copy of an event that a slow one brings is dropped in
silence. On processing time every row is of the present: late copies may come through again, no
event is ever lost.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.dedupe.identity import event_identity, with_cell_identity
from spark_jobs.dedupe.options import DedupeOptions

_SEEN_AT, _EVENT, _CELL = "_seen_at", "_event", "_cell"
_DEFAULTS = DedupeOptions()


def dedupe(
    events: DataFrame, options: DedupeOptions = _DEFAULTS, *, seen_at: Column | None = None
) -> DataFrame:
    """The events of `spark_jobs.source.events`, streaming or not, one copy of each; same columns.

    `seen_at` is the time of a row for the TTL, by default that of its micro-batch. In a stream
    the state has a key of 16 bytes for each event of the last `ttl_ms`, with `identity="cell"`
    one for each cell besides. Copies that come later are events again.
    """
    columns = events.columns
    if events.isStreaming:
        now = F.current_timestamp() if seen_at is None else seen_at
        delay = f"{_watermark_delay_ms(options)} milliseconds"
        events = events.withColumn(_SEEN_AT, now).withWatermark(_SEEN_AT, delay)
    if options.identity == "cell":
        # Of the copies of a cell in one micro-batch any may be first, so several rows of one event
        # can come through here; the second step makes them one.
        events = _first(with_cell_identity(events, _CELL), _CELL)
    return _first(events.withColumn(_EVENT, event_identity()), _EVENT).select(*columns)


def _first(rows: DataFrame, key: str) -> DataFrame:
    if rows.isStreaming:
        return rows.dropDuplicatesWithinWatermark([key])
    return rows.dropDuplicates([key])


def _watermark_delay_ms(options: DedupeOptions) -> int:
    # A key is kept until the watermark, which is one delay behind the present, has passed the
    # moment that is one delay behind the key: two delays in all.
    return options.ttl_ms // 2

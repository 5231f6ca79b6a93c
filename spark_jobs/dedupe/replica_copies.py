"""Drops all replica copies of an event but the first.

The watermark that limits the state uses processing time. With write time or Kafka time, it would
follow the fastest replica, and Spark would silently drop an event that only a slow one delivers.
With processing time, no row is ever late: a delayed copy may pass again, but no event is lost.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.dedupe.options import DedupeOptions
from spark_jobs.source.events import UNREAD, json_value, record_error, record_place

# The state of a checkpoint contains digests of these structs as JSON, so their field names must not
# change. Neither the identity nor the event id includes local deletion times: each attempt of a
# statement sets its own, so its replica copies would differ.
_CELLS = """
    struct<
        kind: string, id: string, pk: string, ck: string, lo: string, hi: string,
        live: struct<ts: bigint, ttl: int>,
        del: struct<ts: bigint>,
        cdel: array<struct<col: string, ts: bigint>>,
        cell: array<struct<col: string, path: string, ts: bigint, ttl: int, val: string>>
    >
"""
# If Connect's converter added a schema, the event is the payload.
_VALUE = f"cells: {_CELLS}, payload: struct<cells: {_CELLS}>"
_PIECE = "array<struct<what: string, col: string, path: string, ts: bigint, ttl: int, val: string>>"
_PIECES = f"""
    concat(
        cast(transform(
            coalesce(_cells.cell, array()), c -> struct('cell', c.col, c.path, c.ts, c.ttl, c.val)
        ) as {_PIECE}),
        cast(transform(
            coalesce(_cells.cdel, array()), d -> struct('cdel', d.col, null, d.ts, null, null)
        ) as {_PIECE}),
        cast(if(
            _cells.live is null, array(),
            array(struct('live', null, null, _cells.live.ts, _cells.live.ttl, null))
        ) as {_PIECE}),
        cast(if(
            _cells.del is null, array(),
            array(struct('del', null, null, _cells.del.ts, null, null))
        ) as {_PIECE})
    )
"""
_READABLE = """
    forall(_pieces, p -> p.ts is not null and (p.what in ('live', 'del') or p.col is not null))
"""
_SCOPE = ("kind", "id", "pk", "ck", "lo", "hi")
# Spark stores these names in the state schema of a checkpoint.
_SEEN_AT, _EVENT, _CELL = "_seen_at", "_event", "_cell"
_DEFAULTS = DedupeOptions()


def event_identity() -> Column:
    """Bytes that are equal for all replica copies of an event.

    The tombstone after a delete has the same id but no value, so its identity gets an extra byte.
    The identity of a record without an id is its place in Kafka, so no two such records are equal.
    """
    of_event = F.when(F.col("value").isNull(), F.concat("id", F.lit(b"\0"))).otherwise(F.col("id"))
    return F.coalesce(of_event, record_place().cast("binary"))


def with_cell_identity(events: DataFrame, name: str) -> DataFrame:
    """Split each event into one row per cell, with the cell's 16-byte identity in `name`.

    The identity covers table, partition key, clustering, column, path, write time, TTL and value.
    Liveness and each deletion count as cells. A record without a value or an id is one cell, with
    its `event_identity`. Missing or invalid `cells` fail the query with an `InputError`.
    """
    is_whole = F.col("id").isNull() | F.col("value").isNull()
    is_readable = F.col("_cells.pk").isNotNull() & (F.size("_pieces") > 0) & F.expr(_READABLE)
    is_readable &= F.col(f"_value.{UNREAD}").isNull()
    whole = F.expr(f"cast(array(struct('whole', null, null, null, null, null)) as {_PIECE})")
    error = record_error(
        " has no valid `cells`. identity=cell needs JSON from agents with event.cells=true. Change "
        "the agents, or use identity=event.",
    )
    checked = (
        F.when(is_whole, whole)
        .when(is_readable, F.col("_pieces"))
        .otherwise(F.raise_error(error).cast(_PIECE))
    )
    digest = F.sha2(F.to_json(F.struct(*(f"_cells.{each}" for each in _SCOPE), "_piece.*")), 256)
    return (
        events.withColumn("_value", json_value(F.col("value").cast("string"), _VALUE))
        .withColumn("_cells", F.coalesce("_value.cells", "_value.payload.cells"))
        .withColumn("_pieces", F.expr(f"cast({_PIECES} as {_PIECE})"))
        .withColumn("_piece", F.explode(checked))
        .withColumn(
            name,
            F.when(is_whole, event_identity()).otherwise(F.unhex(F.substring(digest, 1, 32))),
        )
        .drop("_value", "_cells", "_pieces", "_piece")
    )


def dedupe(
    events: DataFrame, options: DedupeOptions = _DEFAULTS, *, seen_at: Column | None = None
) -> DataFrame:
    """Keep one copy of each event of `spark_jobs.source.events`, with the same columns.

    `events` may be a stream. `seen_at` is the time of a row for the TTL, by default the time of
    its micro-batch. The state of a stream contains a 16-byte key for each event of the last
    `ttl_ms`, and with `identity="cell"` one more for each cell. Later copies count as new events.
    """
    columns = events.columns
    if events.isStreaming:
        now = F.current_timestamp() if seen_at is None else seen_at
        # The watermark is one delay before now. A key expires one delay after it was seen, when the
        # watermark passes that time: after two delays.
        delay = f"{options.ttl_ms // 2} milliseconds"
        events = events.withColumn(_SEEN_AT, now).withWatermark(_SEEN_AT, delay)
    if options.identity == "cell":
        # Several rows of one event can pass this step; the next step reduces them to one.
        events = _first(with_cell_identity(events, _CELL), _CELL)
    return _first(events.withColumn(_EVENT, event_identity()), _EVENT).select(*columns)


def _first(rows: DataFrame, key: str) -> DataFrame:
    if rows.isStreaming:
        return rows.dropDuplicatesWithinWatermark([key])
    return rows.dropDuplicates([key])

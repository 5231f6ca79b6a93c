"""What tells copies from events, as native expressions over the columns of `spark_jobs.source`."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.faults import MARK

# Local deletion times stay out, as they do of the event id: each attempt of a statement has its
# own, so with them a copy of an event would not be one.
_CELLS = """
    struct<
        kind: string, id: string, pk: string, ck: string, lo: string, hi: string,
        live: struct<ts: bigint, ttl: int>,
        del: struct<ts: bigint>,
        cdel: array<struct<col: string, ts: bigint>>,
        cell: array<struct<col: string, path: string, ts: bigint, ttl: int, val: string>>
    >
"""
# With the schema of Connect's converter in front, the event is its payload.
_VALUE = f"cells {_CELLS}, payload struct<cells: {_CELLS}>"
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


def event_identity() -> Column:
    """One binary for all copies of an event.

    A tombstone that follows a delete has the id of the delete and no value, so it has one more
    byte. A record without an id is its own: its place in Kafka stands for it, so such records are
    never taken for copies of each other.
    """
    of_event = F.when(F.col("value").isNull(), F.concat("id", F.lit(b"\0"))).otherwise(F.col("id"))
    return F.coalesce(of_event, _place().cast("binary"))


def with_cell_identity(events: DataFrame, name: str) -> DataFrame:
    """A row for each cell of each event, with 16 bytes in the column `name` that say which it is.

    A cell is (table, partition key, clustering, column, path, write time, TTL, value); liveness
    and each deletion are one too. What has no value or no id is one cell, its `event_identity`.
    An event without `cells`, or with some that cannot be read, fails the query as an `InputError`.
    """
    is_whole = F.col("id").isNull() | F.col("value").isNull()
    is_readable = F.col("_cells.pk").isNotNull() & (F.size("_pieces") > 0) & F.expr(_READABLE)
    whole = F.expr(f"cast(array(struct('whole', null, null, null, null, null)) as {_PIECE})")
    checked = (
        F.when(is_whole, whole)
        .when(is_readable, F.col("_pieces"))
        .otherwise(F.raise_error(_without_cells()).cast(_PIECE))
    )
    digest = F.sha2(F.to_json(F.struct(*(f"_cells.{each}" for each in _SCOPE), "_piece.*")), 256)
    return (
        events.withColumn("_value", F.from_json(F.col("value").cast("string"), _VALUE))
        .withColumn("_cells", F.coalesce("_value.cells", "_value.payload.cells"))
        .withColumn("_pieces", F.expr(f"cast({_PIECES} as {_PIECE})"))
        .withColumn("_piece", F.explode(checked))
        .withColumn(
            name,
            F.when(is_whole, event_identity()).otherwise(F.unhex(F.substring(digest, 1, 32))),
        )
        .drop("_value", "_cells", "_pieces", "_piece")
    )


def _place() -> Column:
    return F.concat_ws("/", "topic", "partition", "offset")


def _without_cells() -> Column:
    return F.concat(
        F.lit(f"{MARK}The record "),
        _place(),
        F.lit(
            " has no `cells` that can be read: identity=cell needs agents with event.cells=true "
            "and their JSON; identity=event does without."
        ),
    )

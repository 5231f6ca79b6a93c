"""Computes digests of token ranges with Spark expressions.

A digest covers what `SELECT` shows, and the write times of single-cell columns. It omits what CQL
does not return: row markers, list positions and, before Cassandra 5.0, the write times of
elements.
"""

from collections.abc import Collection
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from spark_jobs.rebuild.table_layout import TableLayout

_MIN_TOKEN = -(1 << 63)
_TOKEN_BITS = 64
_COUNTER = "org.apache.cassandra.db.marshal.CounterColumnType"
OLDEST_US = -(1 << 63) + 1
"""The write time of values for which CQL does not return one."""


@dataclass(frozen=True, slots=True)
class TokenRange:
    """The tokens from `after` (exclusive) to `to` (inclusive). No row has the smallest token."""

    number: int
    after: int
    to: int


def token_ranges(at_least: int) -> tuple[TokenRange, ...]:
    """Split the whole ring into ranges, in order. Their number is the next power of two."""
    bits = (at_least - 1).bit_length()
    size = 1 << (_TOKEN_BITS - bits)
    starts = [_MIN_TOKEN + number * size for number in range(1 << bits)]
    return tuple(
        TokenRange(number, max(_MIN_TOKEN, start - 1), start + size - 1)
        for number, start in enumerate(starts)
    )


def range_of(token: Column, ranges: int) -> Column:
    bits = (ranges - 1).bit_length()
    if not bits:
        return F.lit(0)
    position = token.bitwiseXOR(F.lit(_MIN_TOKEN))
    return F.shiftrightunsigned(position, _TOKEN_BITS - bits).cast("int")


@dataclass(frozen=True, slots=True)
class RangeDigest:
    rows: int = 0
    hash: int = 0
    oldest_us: int | None = None
    """The smallest write time of a value."""


@dataclass(frozen=True, slots=True)
class ComparedColumns:
    """Columns that need a special comparison."""

    lists: Collection[str]
    """Multi-cell lists: their positions are not comparable."""
    single: Collection[str]
    """Single-cell columns except counters: their write times are comparable."""


def compared_columns(layout: TableLayout) -> ComparedColumns:
    columns = {**layout.static, **layout.regular}
    return ComparedColumns(
        lists=frozenset(
            name for name, of in columns.items() if of.is_multi_cell and of.name == "list"
        ),
        single=frozenset(
            name for name, of in columns.items() if not of.is_multi_cell and of.name != _COUNTER
        ),
    )


def range_digests(rows: DataFrame, ranges: int, columns: ComparedColumns) -> dict[int, RangeDigest]:
    """The digests of nonempty ranges, by number. `rows` has the columns of `Merger.rows`."""
    times = F.transform(F.concat("cells", "statics"), lambda cell: cell["ts"])
    known = F.filter(times, lambda ts_us: ts_us > OLDEST_US)
    hashed = F.xxhash64(
        "pk", "ck", content(F.col("cells"), columns), content(F.col("statics"), columns)
    )
    found = digests(rows, range_of(F.col("token"), ranges), hashed, F.array_min(known))
    return {number: RangeDigest(*digest) for number, *digest in found}


def digests(rows: DataFrame, number: Column, hashed: Column, least: Column) -> list[Row]:
    """Each `number`, with its count of rows, the combined hashes and the minimum of `least`."""
    each = rows.select(number.alias("number"), hashed.alias("hash"), least.alias("least"))
    of_number = each.groupBy("number")
    return of_number.agg(F.count(F.lit(1)), F.bit_xor("hash"), F.min("least")).collect()


def content(cells: Column, columns: ComparedColumns) -> Column:
    """The comparable part of cells."""

    def comparable(cell: Column) -> Column:
        name = cell["column"]
        return F.struct(
            name,
            F.when(~_is_in(name, columns.lists), cell["path"]),
            F.when(_is_in(name, columns.single), cell["ts"]),
            cell["value"],
        )

    def in_list_order(cell: Column) -> Column:
        return F.struct(
            cell["column"].alias("column"),
            F.when(_is_in(cell["column"], columns.lists), _list_place(cell["path"])).alias("place"),
            *(cell[name].alias(name) for name in ("path", "ts", "value")),
        )

    if columns.lists:
        cells = F.array_sort(F.transform(cells, in_list_order))
    return F.transform(cells, comparable)


def _list_place(path: Column) -> Column:
    """A sort key for the time UUIDs of elements. For equal times, the order may differ from
    Cassandra's; the job then compares the rows."""
    parts = ((7, 2), (5, 2), (1, 4), (9, 8))
    return F.concat(*(F.substring(path, start, length) for start, length in parts))


def _is_in(name: Column, columns: Collection[str]) -> Column:
    return name.isin(*sorted(columns)) if columns else F.lit(False)

"""The latest change of each document."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.errors import MESSAGE_PREFIX
from spark_jobs.mongo_reconcile.changes import UNTIMED

KEY = ("collection", "id")
_REST = ("position", "state", "document", "place")
_IS_UNTIMED = f"position.seconds = {UNTIMED}"


def latest(changes: DataFrame) -> DataFrame:
    """The change with the largest position of each document, with the columns of `changes`.

    Positions of a document are unique, so neither the order nor repetitions change the result. You
    can also apply `latest` to parts and then to their results.

    Changes of a document whose order is unknown fail the query with an `InputError`.
    """
    grouped = changes.groupBy(*KEY).agg(F.max(F.struct(*_REST)).alias("latest"), *_ends())
    state = f"CASE WHEN {_ERRORS[0]} IS NOT NULL THEN {raised(_ERRORS[0])} "
    state += f"WHEN {_ERRORS[1]} IS NOT NULL THEN {raised(_ERRORS[1])} "
    state += "ELSE latest.state END AS state"
    return grouped.selectExpr(*KEY, "latest.position", state, "latest.document", "latest.place")


def without_order(changes: DataFrame, known: DataFrame) -> DataFrame:
    """The documents with a change whose order to another one, or to the row in `known`, is unknown.
    The columns are `KEY` and `order_error`."""
    in_table = known.selectExpr(*KEY, "place AS _known", f"NOT {_IS_UNTIMED} AS _is_timed")
    found = changes.groupBy(*KEY).agg(*_ends()).where("_last IS NOT NULL")
    reason = f"coalesce({', '.join((*_ERRORS, *_ERRORS_IN_TABLE))}) AS order_error"
    joined = found.join(in_table, [*KEY], "left").selectExpr(*KEY, reason)
    return joined.where("order_error IS NOT NULL")


def _ends() -> list[Column]:
    """The first and the last place of changes without a cluster time, and the first of others."""
    where = F.struct(
        F.expr(_partition("place")), F.expr(_offset("place")).alias("offset"), F.col("place")
    )
    is_untimed = F.expr(_IS_UNTIMED)
    return [
        F.min(F.when(is_untimed, where)).alias("_first"),
        F.max(F.when(is_untimed, where)).alias("_last"),
        F.min(F.when(~is_untimed, where)).alias("_timed"),
    ]


def order_error(untimed: str, other: str, *, is_timed: str) -> str:
    """SQL for the error text of two places of changes of a document without a known order; it is
    NULL if their order is known, or if one of them is NULL.

    The arguments are SQL. The change at `untimed` has no cluster time and the order of its
    partition. `is_timed`: the change at `other` has a cluster time.
    """
    start = f"'{MESSAGE_PREFIX}The record ', {untimed}, ' has no cluster time in `cdc.source`"
    is_same = f"{_partition(untimed)} = {_partition(other)}"
    return (
        f"CASE WHEN NOT {is_timed} AND NOT {is_same} THEN concat({start}, and ', {other}, ' is of "
        "the same document. Only changes in one partition have an order without it. Read a topic "
        "whose number of partitions never changed, with a new table.') "
        f"WHEN {is_timed} AND {is_same} AND {_offset(untimed)} > {_offset(other)} "
        f"THEN concat({start}, but follows ', {other}, ' of the same document, which has one. Set "
        "`order.by=topic` with a new table and checkpoint.') END"
    )


def raised(error: str) -> str:
    """SQL that fails the query with a text."""
    return f"CAST(raise_error({error}) AS STRING)"


def _partition(place: str) -> str:
    return f"regexp_extract({place}, '^(.*)/', 1)"


def _offset(place: str) -> str:
    return f"CAST(regexp_extract({place}, '/([0-9]+)$', 1) AS BIGINT)"


_ERRORS = (
    order_error("_last.place", "_first.place", is_timed="false"),
    order_error("_last.place", "_timed.place", is_timed="true"),
)
_ERRORS_IN_TABLE = tuple(
    order_error(f"{each}.place", "_known", is_timed="_is_timed") for each in ("_first", "_last")
)

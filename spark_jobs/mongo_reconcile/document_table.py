"""The Delta table of the latest documents, with one row per document.

The row of a deleted document stays, without its content, until no older change can arrive again.
A drop or a rename of a collection adds a row without an id. It stays forever, because it overrides
all earlier changes of the collection, whenever they arrive.
"""

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.errors import MESSAGE_PREFIX, CheckpointError
from spark_jobs.mongo_reconcile.changes import CLEARED, NO_ID, POSITION, UNTIMED

KEY = ("collection", "id")
_REST = ("position", "state", "document", "place")
_IS_UNTIMED = f"position.seconds = {UNTIMED}"
_IS_CLEARED = f"id = '{NO_ID}'"
_COLUMNS = (
    "collection STRING NOT NULL, id STRING NOT NULL, "
    f"position {POSITION}, state STRING NOT NULL, document STRING, place STRING, "
    "seen_at TIMESTAMP NOT NULL"
)


def latest(changes: DataFrame) -> DataFrame:
    """Keep the change with the largest position of each document, with the columns of `changes`.

    Positions of a document are unique, so neither the order nor repetitions change the result. You
    can also apply `latest` to parts and then to their results.

    If the order of a document's changes is unknown, the query fails with an `InputError`.
    """
    grouped = changes.groupBy(*KEY).agg(F.max(F.struct(*_REST)).alias("latest"), *_ends())
    state = f"CASE WHEN {_ERRORS[0]} IS NOT NULL THEN {raised(_ERRORS[0])} "
    state += f"WHEN {_ERRORS[1]} IS NOT NULL THEN {raised(_ERRORS[1])} "
    state += "ELSE latest.state END AS state"
    return grouped.selectExpr(*KEY, "latest.position", state, "latest.document", "latest.place")


def without_order(changes: DataFrame, known: DataFrame) -> DataFrame:
    """The documents whose changes have no known order, among each other or relative to `known`. The
    columns are `KEY` and `order_error`."""
    in_table = known.selectExpr(*KEY, "place AS _known", f"NOT {_IS_UNTIMED} AS _is_timed")
    found = changes.groupBy(*KEY).agg(*_ends()).where("_last IS NOT NULL")
    reason = f"coalesce({', '.join((*_ERRORS, *_ERRORS_IN_TABLE))}) AS order_error"
    joined = found.join(in_table, [*KEY], "left").selectExpr(*KEY, reason)
    return joined.where("order_error IS NOT NULL")


def _ends() -> list[Column]:
    """The first and last place of changes without a cluster time, and the first place of others."""
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
    """SQL for the error text if two changes of a document have no known order. It is NULL if their
    order is known, or if one of the places is NULL.

    The arguments are SQL expressions. The change at `untimed` has no cluster time, so only its
    partition orders it. `is_timed`: whether the change at `other` has a cluster time.
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
    """SQL that fails the query with a message."""
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


class DocumentTable:
    """The table at a folder or URI, which is created if it does not exist.

    Raises `CheckpointError` if the positions in the table have an incompatible format.
    """

    def __init__(self, session: SparkSession, uri: str) -> None:
        self._session = session
        self._uri = uri
        self._table = f"delta.`{uri}`"
        session.sql(
            f"CREATE TABLE IF NOT EXISTS {self._table} ({_COLUMNS}) USING delta "
            "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
        )
        form = self.rows().schema["position"].dataType.simpleString()
        if form != POSITION.replace(": ", ":").replace(", ", ","):
            raise CheckpointError(
                f"The table {self._uri} has positions from a different release ({form}), which "
                "cannot be compared with cluster times. Remove the table and the checkpoint, or "
                "set new ones, and read the topics from their start."
            )

    def with_order_errors(self, changes: DataFrame) -> DataFrame:
        """Set the column `error` of changes without a cluster time that have no known order, among
        these changes or relative to the row in the table."""
        is_valid, is_untimed = F.col("error").isNull(), F.col("position.seconds") == UNTIMED
        if changes.where(is_valid & is_untimed).isEmpty():
            return changes
        # A micro-batch has a separate session.
        known = changes.sparkSession.read.format("delta").load(self._uri)
        found = without_order(changes.where(is_valid), known)
        error = F.coalesce("error", F.when(is_untimed, F.col("order_error")))
        joined = changes.join(found, [*KEY], "left")
        return joined.withColumn("error", error).drop("order_error")

    def apply(self, changes: DataFrame, seen_ms: int) -> None:
        """Merge changes, seen at `seen_ms`. Repeated and older changes have no effect."""
        seen_at = F.timestamp_millis(F.lit(seen_ms))
        new = latest(changes).withColumn("seen_at", seen_at).persist()
        try:
            self._apply(self._without_ended(new))
            cleared = new.where(_IS_CLEARED)
            if not cleared.isEmpty():
                self._clear(cleared)
        finally:
            new.unpersist()

    def _without_ended(self, new: DataFrame) -> DataFrame:
        """Turn changes before the last drop or rename of their collection into deletes."""
        # A micro-batch has a separate session.
        known = new.sparkSession.read.format("delta").load(self._uri).where(_IS_CLEARED)
        ends = known.select("collection", "position").unionAll(
            new.where(_IS_CLEARED).select("collection", "position")
        )
        last = ends.groupBy("collection").agg(F.max("position").alias("_end"))
        is_document = ~F.expr(_IS_CLEARED)
        is_ended = is_document & F.coalesce(F.col("position") < F.col("_end"), F.lit(False))
        return (
            new.join(F.broadcast(last), "collection", "left")
            .withColumn("state", F.when(is_ended, "deleted").otherwise(F.col("state")))
            .withColumn("document", F.when(~is_ended, F.col("document")))
            .drop("_end")
        )

    def _clear(self, cleared: DataFrame) -> None:
        """Mark the known documents that a drop or a rename removes as deleted."""
        cleared.createOrReplaceTempView("cleared_collections")
        cleared.sparkSession.sql(
            f"""
            MERGE INTO {self._table} AS known USING cleared_collections AS new
            ON known.collection = new.collection AND known.id <> '{NO_ID}'
                AND known.state <> 'deleted' AND known.position < new.position
            WHEN MATCHED THEN UPDATE SET state = 'deleted', document = NULL, seen_at = new.seen_at
            """
        )

    def _apply(self, new: DataFrame) -> None:
        on = " AND ".join(f"known.{name} = new.{name}" for name in KEY)
        new.createOrReplaceTempView("new_documents")
        error = order_error(
            "new.place", "known.place", is_timed=f"known.position.seconds <> {UNTIMED}"
        )
        error = f"CASE WHEN new.position.seconds = {UNTIMED} THEN {error} END"
        # A micro-batch has a separate session, and the view exists only there.
        new.sparkSession.sql(
            f"""
            MERGE INTO {self._table} AS known USING new_documents AS new ON {on}
            WHEN MATCHED AND {error} IS NOT NULL THEN UPDATE SET state = {raised(error)}
            WHEN MATCHED AND new.position > known.position THEN UPDATE SET *
            WHEN NOT MATCHED THEN INSERT *
            """
        )

    def purge(self, before_ms: int) -> None:
        """Remove documents whose delete was seen before `before_ms`."""
        self._session.sql(
            f"DELETE FROM {self._table} "
            f"WHERE state = 'deleted' AND seen_at < timestamp_millis({before_ms})"
        )

    def rows(self) -> DataFrame:
        return self._session.read.format("delta").load(self._uri)

    def current(self, collection: str) -> DataFrame:
        """The documents of a collection, with the columns id, document and is_known.

        If the latest event did not contain the document, `is_known` is false and the document is
        null. The agent must then send full documents.
        """
        is_gone = F.col("state").isin("deleted", CLEARED)
        exists = (F.col("collection") == collection) & ~is_gone
        is_known = F.col("state") == "live"
        return self.rows().where(exists).select("id", "document", is_known.alias("is_known"))

    def counts(self) -> dict[str, dict[str, int]]:
        """The number of documents by collection and state."""
        counts: dict[str, dict[str, int]] = {}
        of_state = self.rows().where(f"NOT {_IS_CLEARED}").groupBy("collection", "state").count()
        for collection, state, count in of_state.collect():
            counts.setdefault(collection, {})[state] = count
        return counts

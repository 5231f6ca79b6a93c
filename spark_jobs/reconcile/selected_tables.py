"""Selects the tables of a job, and states why events of other tables are rejected."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.reconcile.options import ReconcileOptions
from spark_jobs.reconcile.source_table import SourceSchema, SourceTable, read_schema
from spark_jobs.source.events import OTHER_TABLES, read_cells

READ = ("id", "value", "topic", "partition", "offset")
"""The columns of events that reconcile reads."""
_CELLS = '"cells":'
_BEGIN = '{"kind":"'
_OBJECT = "{"
_WITH_SCHEMA = '{"schema":'
_FROM_EPOCH = "1b255f4def2540a6"


def drop_replica_copies(events: DataFrame) -> DataFrame:
    """Keep one copy of each event of `spark_jobs.source.events`, before Spark parses its JSON.

    Events without a value are dropped. Replica copies have equal ids and equal `cells`, byte for
    byte. Equal ids are not enough: two attempts of a statement have equal ids but different local
    deletion times, of which the largest counts.

    The columns are `value`, and `topic`, `partition` and `offset` of the copy. `value` is text with
    the member `cells`, possibly without the members before it.
    """
    text = F.col("value").cast("string")
    # A separate column, because Spark would otherwise repeat the search for each reference.
    parts = events.where(F.col("id").isNotNull() & F.col("value").isNotNull()).select(
        *("id", "topic", "partition", "offset"),
        text.alias("value"),
        F.substring_index(text, _CELLS, -1).alias("rest"),
    )
    return parts.groupBy("id", "topic", "partition", _only_cells().alias("value")).agg(
        F.min("offset").alias("offset")
    )


def _only_cells() -> Column:
    """Reduce a value to the member `cells`, if `cells` is the last member, as agents write it.

    Any other value stays unchanged, including a value with a Connect schema. The text `"cells":`
    cannot occur inside `cells`, because names are values there and their quotes are escaped. It can
    occur in other formats, such as Avro.
    """
    is_object = F.startswith("value", F.lit(_OBJECT))
    has_schema = F.startswith("value", F.lit(_WITH_SCHEMA))
    is_last = is_object & ~has_schema & F.startswith("rest", F.lit(_BEGIN))
    found = F.when(is_last, F.concat(F.lit("{" + _CELLS), "rest")).otherwise(F.col("value"))
    # The value is never null. Without `coalesce`, Spark would check every record for null.
    return F.coalesce(found, F.lit(""))


@dataclass(frozen=True, slots=True)
class SelectedTables:
    tables: tuple[SourceTable, ...]
    skips_others: bool
    """Whether events of other tables are skipped instead of rejected."""
    counters: frozenset[str]
    """Ids of the counter tables that had CDC from their first write."""
    rejected: Mapping[str, str]
    """Reasons to reject events, by table id, as `read_cells` expects them."""

    def events(self, records: DataFrame) -> DataFrame:
        """The events of these tables for the version store. A rejected event fails the query."""
        has_ids = "id" in records.columns
        copies = drop_replica_copies(records) if has_ids else records
        events = read_cells(copies, self.rejected, self.counters, self._rejects)
        return self._selected(events if has_ids else events.dropDuplicates())

    def split(self, records: DataFrame) -> tuple[DataFrame, DataFrame]:
        """Return `events`, and the rejected events with `place` and `error`. `records` must have
        ids. Both results read the records, so cache them."""
        copies = drop_replica_copies(records)
        read = read_cells(copies, self.rejected, self.counters, self._rejects, keep_invalid=True)
        accepted = read.where(F.col("error").isNull()).drop("place", "error")
        rejected = read.where(F.col("error").isNotNull()).select("place", "error")
        return self._selected(accepted), rejected

    def _selected(self, events: DataFrame) -> DataFrame:
        if not self.skips_others:
            return events
        return events.where(F.col("table").isin(*(table.id for table in self.tables)))

    @property
    def _rejects(self) -> Callable[[Column, Column], Column] | None:
        return self._newer_table if self.skips_others else None

    def _newer_table(self, table: Column, place: Column) -> Column:
        """The reason to reject an event of a newer table with a selected name, by its topic. Events
        of older tables are skipped, because Cassandra no longer has their rows."""
        reason = F.lit(None).cast("string")
        for each in self.tables:
            topic = rf"[.-]{each.keyspace}[.-]{each.name}/\d+/\d+$"
            is_newer = place.rlike(topic) & (_created(table) > _created(F.lit(each.id)))
            text = (
                f"is of a table {each.full_name} that is newer than the table with the id "
                f"{each.id} in `schema.file`. Describe the schema again"
            )
            reason = F.when(is_newer, text).otherwise(reason)
        return reason


def _created(table: Column) -> Column:
    """A text that sorts tables by creation time; null for an id that does not contain this time.

    Up to Cassandra 5.0, ids are time UUIDs. From 6.0 on, they contain an epoch (`TableId#MAGIC`).
    """
    digits = F.translate(table, "-", "")
    time = F.concat(F.lit("0"), digits.substr(14, 3), digits.substr(9, 4), digits.substr(1, 8))
    epoch = F.concat(F.lit("1"), digits.substr(17, 16))
    return F.when(digits.startswith(_FROM_EPOCH), epoch).when(digits.substr(13, 1) == "1", time)


def select_tables(
    schema: SourceSchema, tables: Sequence[str] = (), whole_counters: Sequence[str] = ()
) -> SelectedTables:
    """Select tables by name; by default, all tables of the schema.

    `whole_counters` lists the counter tables that had CDC from their first write. Raises
    `ConfigError` for a name that is not in the schema.
    """
    named = tuple(schema.table(name) for name in tables)
    selected = named or schema.tables
    whole = {schema.table(name).id for name in whole_counters}
    counters = frozenset(table.id for table in selected if table.has_counters)
    rejected = {
        table.id: f"is of the counter table {table.full_name}, whose counts before `cdc = true` "
        "are not in the log. If it had CDC from its first write, add it to `counter.tables`; "
        "otherwise select other tables with `tables`"
        for table in selected
        if table.has_counters and table.id not in whole
    }
    if not named:
        known = {table.id: "" for table in selected if table.id not in rejected}
        unknown = (
            f"is of a table that {schema.path} does not describe. Describe the schema again; if "
            "the table was dropped, select the others with `tables`"
        )
        rejected = {**rejected, **known, OTHER_TABLES: unknown}
    return SelectedTables(selected, bool(named), counters & whole, rejected)


def read_tables(options: ReconcileOptions) -> tuple[SourceSchema, SelectedTables]:
    """The schema of a job and its selected tables. Raises `ConfigError`."""
    schema = read_schema(options.schema_file)
    return schema, select_tables(schema, options.tables, options.counter_tables)

"""The tables that a job keeps: which events it takes, which it refuses and why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.events import ANY_OTHER, read_cells
from spark_jobs.reconcile.copies import without_copies
from spark_jobs.reconcile.source_table import SourceSchema, SourceTable
from spark_jobs.reconcile.versions import events_of


@dataclass(frozen=True, slots=True)
class KeptTables:
    """What is to be kept of all events."""

    wanted: tuple[SourceTable, ...]
    takes_others: bool
    """Whether events of further tables are passed over; else they are refused."""
    counters: frozenset[str]
    """Ids of counter tables whose sums are whole."""
    refused: Mapping[str, str]
    """Why events are refused, as `read_cells` wants it."""

    def events(self, records: DataFrame, buckets: int) -> DataFrame:
        """Events of these tables, as layouts take them. One that is refused is an error of the
        query."""
        if "id" in records.columns:
            cells = read_cells(without_copies(records), self.refused)
        else:
            cells = read_cells(records, self.refused).dropDuplicates()
        if self.takes_others:
            cells = cells.where(F.col("table").isin(*(table.id for table in self.wanted)))
        return events_of(cells, buckets, self.counters)


def kept_tables(
    schema: SourceSchema, tables: Sequence[str] = (), whole_counters: Sequence[str] = ()
) -> KeptTables:
    """All tables, or those of these names. `whole_counters` names the counter tables that had CDC
    from their first write on. Raises ConfigError for a name that the schema lacks."""
    named = tuple(schema.table(name) for name in tables)
    wanted = named or schema.tables
    whole = {schema.table(name).id for name in whole_counters}
    counters = frozenset(table.id for table in wanted if table.has_counters)
    refused = {
        table.id: f"is of {table.full_name}, whose counters cannot be summed up: the log does not "
        "tell what was counted before `cdc = true`. If it was so from the first write on, name the "
        "table in `counter.tables`, else leave it out of `tables`"
        for table in wanted
        if table.has_counters and table.id not in whole
    }
    if not named:
        known = {table.id: "" for table in wanted if table.id not in refused}
        unknown = (
            f"is of a table that {schema.path} does not describe: describe the schema anew, or, if "
            "the table was dropped, name those to keep in `tables`"
        )
        refused = {**refused, **known, ANY_OTHER: unknown}
    return KeptTables(wanted, bool(named), counters & whole, refused)

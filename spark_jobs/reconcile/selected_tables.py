"""The selected tables of a job, and the reasons to reject events of other tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.reconcile.replica_copies import drop_replica_copies
from spark_jobs.reconcile.source_table import SourceSchema, SourceTable
from spark_jobs.source.cells import OTHER_TABLES, read_cells


@dataclass(frozen=True, slots=True)
class SelectedTables:
    """The tables that a job stores."""

    tables: tuple[SourceTable, ...]
    skips_others: bool
    """Whether events of other tables are skipped instead of rejected."""
    counters: frozenset[str]
    """Ids of the counter tables that had CDC from their first write."""
    rejected: Mapping[str, str]
    """Reasons to reject events by table id, as for `read_cells`."""

    def events(self, records: DataFrame) -> DataFrame:
        """The events of these tables, as the version store appends them.

        A rejected event fails the query.
        """
        if "id" in records.columns:
            events = read_cells(drop_replica_copies(records), self.rejected, self.counters)
        else:
            events = read_cells(records, self.rejected, self.counters).dropDuplicates()
        if self.skips_others:
            events = events.where(F.col("table").isin(*(table.id for table in self.tables)))
        return events


def select_tables(
    schema: SourceSchema, tables: Sequence[str] = (), whole_counters: Sequence[str] = ()
) -> SelectedTables:
    """The tables with these names; all tables of the schema by default.

    `whole_counters` names the counter tables that had CDC from their first write. Raises
    `ConfigError` for a name that the schema lacks.
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

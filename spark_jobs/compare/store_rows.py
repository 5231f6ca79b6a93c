"""Reads a table's rows from the version store, for the comparison with the live table."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.compare.digests import TokenRange, range_of
from spark_jobs.reconcile.source_table import SourceSchema, SourceTable
from spark_jobs.reconcile.store import VersionStore
from spark_jobs.reconcile.store.version_store import MERGED
from spark_jobs.reconcile.visible_rows import merged, merger_of
from spark_jobs.watermarks.table_watermark import RangeWatermark


class StoreRows:
    """The rows of one table, as `Merger.rows` returns them."""

    def __init__(
        self, store: VersionStore, schema: SourceSchema, table: SourceTable, ranges: int
    ) -> None:
        self._store = store
        self._table_id = table.id
        self._merger = merger_of(schema, table)
        self._ranges = ranges
        self._truncated_us: dict[int, int | None] = {}

    def all(self, version: int, second: int) -> DataFrame:
        """The rows that the store shows at a second."""
        stored = self._store.rows(self._table_id, version).select(*MERGED)
        return self.visible(stored, version, second)

    def since(self, before: int, version: int, ranges: Sequence[int]) -> DataFrame:
        """The unmerged rows of ranges: the rows of version `before`, and rows added up to
        `version`. They include values that later writes replaced and compaction has dropped."""
        stored = self._store.rows(self._table_id, before).select(*MERGED)
        if version > before:
            added = self._store.added(self._table_id, before, version)
            stored = stored.unionByName(added.select(*MERGED))
        return stored.where(range_of(F.col("token"), self._ranges).isin(*ranges))

    def visible(
        self, stored: DataFrame, version: int, second: int, until_us: int | None = None
    ) -> DataFrame:
        """The rows that `stored` shows at a second, with writes up to `until_us`."""
        if version not in self._truncated_us:
            self._truncated_us[version] = self._store.truncated_us(self._table_id, version)
        merge = partial(
            self._merger.rows,
            now_s=second,
            truncated_us=self._truncated_us[version],
            until_us=until_us,
        )
        return merged(stored, merge, self._merger.rows_schema)


def complete_until_us(
    ranges: Iterable[TokenRange], watermarks: Iterable[RangeWatermark]
) -> Mapping[int, int]:
    """The smallest watermark that overlaps each range, by range number. A range without a watermark
    has no entry."""
    known = list(watermarks)
    found = {}
    for each in ranges:
        ends_ms = [one.until_ms for one in known if one.after < each.to and each.after < one.to]
        if ends_ms:
            found[each.number] = min(ends_ms) * 1000
    return found

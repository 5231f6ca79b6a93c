"""Delta tables of versions: creation, fixed properties, reads, replaced parts, number of files."""

import re
from collections import Counter
from collections.abc import Collection, Mapping
from typing import ClassVar
from urllib.parse import unquote

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.errors import JobError

Bucket = tuple[str, int]
"""Table id and number of a bucket."""

_BUCKETS = "cdc.buckets"
_LAYOUT = "cdc.layout"
_PARTITION = re.compile(r"/table=(?P<table>[^/]+)/bucket=(?P<bucket>-?\d+)/")


class VersionsTable:
    """The versions of all source tables, in one Delta table at a path."""

    NAME: ClassVar[str]
    SCHEMA: ClassVar[str]
    PARTITIONED_BY: ClassVar[tuple[str, ...]]
    PROPERTIES: ClassVar[Mapping[str, str]] = {}

    def __init__(
        self, session: SparkSession, path: str, *, buckets: int, max_uncompacted_files: int = 8
    ) -> None:
        """Open the table, or create it. `compact` compacts buckets with more files than the limit.

        Raises `JobError` if the table has another layout or another number of buckets.
        """
        self.session = session
        self.path = path
        self.max_uncompacted_files = max_uncompacted_files
        fixed = {_LAYOUT: self.NAME, _BUCKETS: str(buckets)}
        if not DeltaTable.isDeltaTable(session, path):
            self._create(fixed)
        found = session.sql(f"SHOW TBLPROPERTIES delta.`{path}`").collect()
        actual = {row["key"]: row["value"] for row in found}
        for name, value in fixed.items():
            if actual.get(name) != value:
                raise JobError(
                    f"The table {path} was created with `{name.removeprefix('cdc.')}="
                    f"{actual.get(name)}`, not {value}. Use that value, or a new table."
                )

    def stored(self, tables: Collection[str] | None = None) -> DataFrame:
        """The stored rows of these tables; of all tables for None."""
        rows = self.session.read.format("delta").load(self.path)
        return rows if tables is None else rows.where(F.col("table").isin(*tables))

    def replace(self, rows: DataFrame, condition: str) -> None:
        """Replace the partitions that meet the condition with these rows, in one commit."""
        writer = rows.write.format("delta").mode("overwrite")
        writer.option("replaceWhere", condition).save(self.path)

    def _create(self, fixed: Mapping[str, str]) -> None:
        columns = self.session.createDataFrame([], self.SCHEMA).schema
        builder = DeltaTable.createIfNotExists(self.session).location(self.path)
        builder = builder.addColumns(columns).partitionedBy(*self.PARTITIONED_BY)
        # Statistics of other columns would not help to skip files.
        properties = {"delta.dataSkippingStatsColumns": "token", **self.PROPERTIES, **fixed}
        for name, value in properties.items():
            builder = builder.property(name, value)
        builder.execute()


def files_by_bucket(stored: DataFrame) -> Counter[Bucket]:
    """The number of files in each bucket."""
    places = filter(None, map(_PARTITION.search, stored.inputFiles()))
    return Counter((unquote(place["table"]), int(place["bucket"])) for place in places)


def escaped(text: str) -> str:
    """The text, escaped for a literal in SQL."""
    return text.replace("\\", "\\\\").replace("'", "\\'")

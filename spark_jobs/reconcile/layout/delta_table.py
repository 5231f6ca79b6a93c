"""Delta tables of versions: creation, fixed properties, number of files."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from urllib.parse import unquote

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.errors import JobError

Bucket = tuple[str, int]
"""Table id and number of a bucket."""

_BUCKETS = "cdc.buckets"
_LAYOUT = "cdc.layout"
_PARTITION = re.compile(r"/table=(?P<table>[^/]+)/bucket=(?P<bucket>-?\d+)/")


def create_table(
    session: SparkSession,
    path: str,
    schema: str,
    *,
    layout: str,
    buckets: int,
    partitioned_by: Sequence[str],
    properties: Mapping[str, str],
) -> None:
    """Create the table if it does not exist, and verify its fixed properties.

    Raises `JobError` if the table has another layout or another number of buckets.
    """
    fixed = {_LAYOUT: layout, _BUCKETS: str(buckets)}
    if not DeltaTable.isDeltaTable(session, path):
        empty = session.createDataFrame([], schema)
        builder = DeltaTable.createIfNotExists(session).location(path).addColumns(empty.schema)
        builder = builder.partitionedBy(*partitioned_by)
        # Statistics of other columns would not help to skip files.
        all_properties = {"delta.dataSkippingStatsColumns": "token", **properties, **fixed}
        for name, value in all_properties.items():
            builder = builder.property(name, value)
        builder.execute()
    found = session.sql(f"SHOW TBLPROPERTIES delta.`{path}`").collect()
    actual = {row["key"]: row["value"] for row in found}
    for name, value in fixed.items():
        if actual.get(name) != value:
            raise JobError(
                f"The table {path} was created with `{name.removeprefix('cdc.')}="
                f"{actual.get(name)}`, not {value}. Use that value, or a new table."
            )


def files_by_bucket(stored: DataFrame) -> Counter[Bucket]:
    """The number of files in each bucket."""
    places = filter(None, map(_PARTITION.search, stored.inputFiles()))
    return Counter((unquote(place["table"]), int(place["bucket"])) for place in places)


def escaped(text: str) -> str:
    """The text, escaped for a literal in SQL."""
    return text.replace("\\", "\\\\").replace("'", "\\'")

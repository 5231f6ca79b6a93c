"""Delta tables of versions: made once, asked for their files."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from urllib.parse import unquote

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.errors import JobError

Bucket = tuple[str, int]
"""Table id and number."""

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
    """Makes the table where there is none.

    Raises `JobError` for one of another layout or with another count of buckets: neither can
    change under the versions that are in it.
    """
    fixed = {_LAYOUT: layout, _BUCKETS: str(buckets)}
    if not DeltaTable.isDeltaTable(session, path):
        empty = session.createDataFrame([], schema)
        builder = DeltaTable.createIfNotExists(session).location(path).addColumns(empty.schema)
        builder = builder.partitionedBy(*partitioned_by)
        # Of the columns that files can be passed over by, only the token says anything.
        all_properties = {"delta.dataSkippingStatsColumns": "token", **properties, **fixed}
        for name, value in all_properties.items():
            builder = builder.property(name, value)
        builder.execute()
    found = session.sql(f"SHOW TBLPROPERTIES delta.`{path}`").collect()
    made_with = {row["key"]: row["value"] for row in found}
    for name, value in fixed.items():
        if made_with.get(name) != value:
            raise JobError(
                f"The table {path} was made with `{name.removeprefix('cdc.')}` "
                f"{made_with.get(name)}, not {value}: set that, or begin a new table."
            )


def files_by_bucket(stored: DataFrame) -> Counter[Bucket]:
    """How many files a part of a table has in each bucket."""
    places = filter(None, map(_PARTITION.search, stored.inputFiles()))
    return Counter((unquote(place["table"]), int(place["bucket"])) for place in places)


def escaped(text: str) -> str:
    """For a literal in SQL."""
    return text.replace("\\", "\\\\").replace("'", "\\'")

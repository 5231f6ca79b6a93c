"""The table `ks.t` of `tests.support.node.snapshot_rows`, live and as events of a version store."""

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from commitlog import EventFormat, Schema, SnapshotEncoder
from spark_jobs.compare.live_rows import with_tokens
from spark_jobs.source.events import read_cells
from tests.support.events.cql_values import counted
from tests.support.node.snapshot_rows import DDL, TABLE_ID, Cells, encode, integer, long

SCHEMA = Schema.from_cql(DDL)


def encoder_of(schema: Schema, table_id: str) -> SnapshotEncoder:
    """The encoder of a job that compares the table."""
    form = EventFormat(
        topic_prefix="t", cluster="c", node_id="n", all_tables=True, counter_events="shards"
    )
    return SnapshotEncoder(schema, table_id, form, element_times=True, started_us=0)


def events_of(rows: Sequence[Cells]) -> pa.RecordBatch:
    """Rows of the live table as input of a `Merger`."""
    return with_tokens(encode(rows, encoder_of(SCHEMA, TABLE_ID)))


def stored(spark: SparkSession, rows: Sequence[Cells]) -> DataFrame:
    """The events of rows, as a version store appends them."""
    values = events_of(rows).column("event").to_pylist()
    return read_cells(spark.createDataFrame([(each,) for each in values], "value string"))


def v(number: int, written_us: int) -> Cells:
    """A value of the column `v`."""
    return integer(number), long(written_us), None


def a_list(*values: int, written_us: int = 50) -> Cells:
    """A value of the column `l`."""
    times = [long(written_us)] * len(values)
    return counted(len(values), map(integer, values)), counted(len(times), times), counted(0, ())


def a_map(**values: int) -> Cells:
    """A value of the column `m`."""
    pairs = [part for name, value in values.items() for part in (name.encode(), integer(value))]
    return (
        counted(len(values), pairs),
        counted(len(values), [long(50)] * len(values)),
        counted(0, ()),
    )

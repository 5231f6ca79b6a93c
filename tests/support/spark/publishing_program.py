"""Publishes changes of many rows to a topic, as a process that a test can kill.

    python -m tests.support.spark.publishing_program FOLDER BOOTSTRAP TOPIC

Row n has the changes 0 to `CHANGES_OF_A_ROW` - 1: `c`, `u` and last `d`, each a second later.
"""

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from spark_jobs.changes.handler import ChangesHandler, PublishedStream
from spark_jobs.changes.journal import BatchJournal
from spark_jobs.changes.json_converter import json_bytes
from spark_jobs.changes.kafka_sink import Encoding, KafkaSink
from spark_jobs.changes.kafka_topic import KafkaTopic
from spark_jobs.follow.position import Position
from spark_jobs.reconcile.source_table import SourceTable
from spark_jobs.storage import Folder
from tests.support.spark.changes import NOW_US, ORDERS
from tests.support.spark.session import fetched_jars, local_session, quiet_java_options

ROWS = 20_000
CHANGES_OF_A_ROW = 5
BEFORE, AFTER = Position(1, 100), Position(2, 110)
TABLE = SourceTable(ORDERS.id, ORDERS.keyspace, ORDERS.name, False, False, {}, {})


def changes(session: SparkSession) -> DataFrame:
    """The changes of all rows, in an order that mixes the rows."""
    row, seq = F.col("id") % ROWS, (F.col("id") / ROWS).cast("int")
    note = F.concat(F.lit("change "), seq.cast("string"))

    def state(note: Column) -> Column:
        return F.struct(
            row.cast("int").alias("id"), F.lit(0).alias("seq"), note.cast("string").alias("note")
        )

    last = F.lit(CHANGES_OF_A_ROW - 1)
    return session.range(ROWS * CHANGES_OF_A_ROW).select(
        F.unhex(F.md5(row.cast("string"))).alias("cdc_row_id"),
        F.xxhash64(row).alias("token"),
        seq.alias("seq"),
        F.when(seq == 0, "c").when(seq == last, "d").otherwise("u").alias("op"),
        F.lit("write").alias("cause"),
        (F.lit(NOW_US) + seq * 1_000_000).alias("ts_us"),
        F.when(seq > 0, state(F.concat(F.lit("change "), (seq - 1).cast("string")))).alias(
            "before"
        ),
        F.when(seq < last, state(note)).alias("after"),
    )


def handler(
    session: SparkSession,
    folder: Path,
    bootstrap: str,
    topic: str,
    *,
    has_tombstones: bool | None = True,
) -> ChangesHandler:
    """A handler that publishes these changes, with its journal in a folder."""
    table = replace(ORDERS, topic=topic)

    def open_stream(_: SourceTable) -> PublishedStream:
        target = KafkaTopic(session, topic, {"kafka.bootstrap.servers": bootstrap})
        sink = KafkaSink(target, table, _encoding, has_tombstones=has_tombstones)
        return PublishedStream(BatchJournal(Folder(session, str(folder / "journal"))), (sink,))

    return ChangesHandler(open_stream, has_snapshot=True)


def _encoding(_: StructType) -> Encoding:
    as_json = partial(json_bytes, schema=None)
    return Encoding(as_json, as_json)


def main(folder: Path, bootstrap: str, topic: str) -> None:
    session = local_session(fetched_jars(), quiet_java_options(folder), folder / "warehouse")
    publisher = handler(session, folder, bootstrap, topic)
    if publisher.position(TABLE) is None:
        publisher.apply(TABLE, changes(session), BEFORE, AFTER, {})


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])

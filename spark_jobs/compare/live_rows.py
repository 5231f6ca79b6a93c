"""Reads the rows of a live table in the executors, in the form of `Merger.rows`.

A range is read in token order, so its events need no shuffle and no sort.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from commitlog import EventBatch, EventFormat, Schema, SnapshotEncoder
from sidecar.fetch_size import Throttle
from spark_jobs.compare.cassandra_pages import CassandraPages, Contact, open_pages
from spark_jobs.compare.digests import TokenRange
from spark_jobs.merge import Merger

# Finds the last numeric `token`: `cells` comes last in a value, and its strings are base64.
_TOKEN = r'(?s).*"token": ?(?P<token>-?\d+)'


@dataclass(frozen=True, slots=True)
class LiveReader:
    """Reads ranges of one table. Can be pickled."""

    contact: Contact = field(repr=False)
    merger: Merger
    stored_schema: bytes
    table_id: str
    table: str
    """`keyspace.table`."""
    consistency: str
    page_rows: int
    rows_per_second: int | None
    now_s: int
    """Values that expire by this second are omitted."""

    def read_all(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of token ranges. Each input row is a range with `after` and `to`."""
        throttle = Throttle(self.rows_per_second)
        event_format = EventFormat(
            topic_prefix="live",
            cluster="live",
            node_id="live",
            all_tables=True,
            counter_events="shards",
        )
        with open_pages(self.contact) as pages:
            encoder = SnapshotEncoder(
                Schema.from_stored(self.stored_schema),
                self.table_id,
                event_format,
                element_times=pages.has_element_times(),
                started_us=0,
            )
            for batch in batches:
                for after, to in zip(batch.column("after"), batch.column("to"), strict=True):
                    events = self._events(pages, encoder, throttle, after.as_py(), to.as_py())
                    yield from self.merger.rows(events, now_s=self.now_s)

    def _events(
        self,
        pages: CassandraPages,
        encoder: SnapshotEncoder,
        throttle: Throttle,
        after: int,
        to: int,
    ) -> Iterator[pa.RecordBatch]:
        is_first = True
        time.sleep(throttle.due_in_s)
        for page in pages.read(
            self.table, encoder.cql(after, to), self.consistency, self.page_rows
        ):
            throttle.add(page.rows)
            batch = encoder.encode(
                page.body,
                read_at_us=page.asked_us,
                start=after,
                end=to if page.is_last else None,
                continues=not is_first,
            )
            is_first = False
            if len(batch):
                yield with_tokens(batch)
            if not page.is_last:
                time.sleep(throttle.due_in_s)


def with_tokens(batch: EventBatch) -> pa.RecordBatch:
    """Convert events to the input of a `Merger`."""
    text = pa.record_batch(batch).column("value").cast(pa.string())
    found = pc.extract_regex(text, _TOKEN)
    token = pc.struct_field(found, "token").cast(pa.int64())
    return pa.record_batch(
        [token, text, pa.nulls(len(text), pa.binary())], names=["token", "event", "state"]
    )


def read_live(
    session: SparkSession, reader: LiveReader, ranges: Sequence[TokenRange], tasks: int
) -> DataFrame:
    """The rows of token ranges. Each task reads its ranges one after the other."""
    rows = [(each.number, each.after, each.to) for each in ranges]
    frame = session.createDataFrame(rows, "number int, after bigint, `to` bigint")
    by_task = frame.repartitionByRange(min(tasks, len(ranges)), "number")
    return by_task.mapInArrow(reader.read_all, from_arrow_schema(reader.merger.rows_schema))

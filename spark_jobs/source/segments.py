"""Reads archived commit-log segments into DataFrames of events.

The agent's transfers `archive`, `gcs` and `s3` store segments with their indexes. Each task reads
whole segments from any file system that Hadoop supports, and decodes them with the parser.
"""

import gzip
import json
import re
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from commitlog import (
    CommitLogError,
    EventBatch,
    EventFormat,
    Schema,
    SegmentKeyError,
    SegmentReader,
)
from sidecar.errors import ConfigError
from spark_jobs.errors import MESSAGE_PREFIX, InputError

EVENTS = pa.schema(
    [("id", pa.binary()), ("ts_us", pa.int64()), ("kind", pa.string()), ("value", pa.binary())]
)
UNREAD = pa.struct(
    [("segment", pa.string()), ("start", pa.int64()), ("end", pa.int64()), ("cause", pa.string())]
)
"""A range of a segment that could not be read. Positions are logical. A null `end` means the end of
the segment."""
COLUMNS = EVENTS.append(pa.field("unread", UNREAD))
_BATCH_EVENTS = 10_000
_BATCH_BYTES = 4 << 20
_MOST_RANGES = 100
"""Maximum number of unread ranges that one segment reports separately."""
_LOG = r"CommitLog-\d{1,10}-\d{1,19}\.log(\.gz)?$"
_SEGMENT_ID = r"CommitLog-\d+-(\d+)\.log"
_COMPLETED = r"^(\d{1,10})\nCOMPLETED"


@dataclass(frozen=True, slots=True)
class SegmentDecoder:
    """Decodes the events of one table in the executors, batch by batch. Can be pickled.

    `stored_schema` is the result of `Schema.to_stored`. `keys` contains the keys for decrypting
    segments, by alias.
    """

    stored_schema: bytes
    table_id: str
    full_name: str
    keys: Mapping[str, bytes] = field(default_factory=dict, repr=False)

    def decode_all(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield batches of `COLUMNS`: events, and rows that contain only `unread`.

        Each input row is a segment: `path`, `content`, and `completed_at`, the number before
        COMPLETED in the segment's index, or null. Raises `InputError` for a missing key.
        """
        for batch in batches:
            for path, content, completed_at in zip(
                batch.column("path"),
                batch.column("content"),
                batch.column("completed_at"),
                strict=True,
            ):
                yield from self._decode(path.as_py(), content.as_buffer(), completed_at.as_py())

    def _decode(
        self, path: str, content: pa.Buffer, completed_at: int | None
    ) -> Iterator[pa.RecordBatch]:
        name = path.rsplit("/", 1)[-1]
        # The parser can read only files.
        with tempfile.TemporaryDirectory(prefix="cdc-segment-") as folder:
            file = Path(folder) / name.removesuffix(".gz")
            unread = _UnreadRanges(path)
            try:
                with file.open("wb") as target:
                    target.write(gzip.decompress(content) if name.endswith(".gz") else content)
                reader = SegmentReader(str(file), keys=self.keys)
                yield from self._events(reader, file.stat().st_size, completed_at or 0, unread)
            except SegmentKeyError as error:
                raise InputError(
                    f"{MESSAGE_PREFIX}{path}: {error}. Set `segments.key.ALIAS` to the key in "
                    "hexadecimal digits."
                ) from error
            except (CommitLogError, EOFError, gzip.BadGzipFile, zlib.error) as error:
                unread.add(0, None, str(error))
        if unread.rows:
            yield unread.batch()

    def _events(
        self, reader: SegmentReader, file_bytes: int, completed_at: int, unread: "_UnreadRanges"
    ) -> Iterator[pa.RecordBatch]:
        schema = Schema.from_stored(self.stored_schema)
        event_format = EventFormat(
            topic_prefix="segment",
            cluster="archive",
            node_id="archive",
            counter_events="shards",
            include=[re.escape(self.full_name)],
            # `cdc` may have been switched off since.
            all_tables=True,
        )
        abandoned: list[tuple[str, str | None]] = []
        # A replay writes the file's length, which does not prove that the log reaches that far.
        expected_end = completed_at if completed_at != file_bytes else 0
        while True:
            batch = reader.read(
                schema,
                event_format,
                complete=True,
                expected_end=expected_end,
                completed_at=completed_at,
                max_events=_BATCH_EVENTS,
                max_bytes=_BATCH_BYTES,
                abandoned=abandoned,
            )
            if len(batch):
                yield _with_nulls(batch)
            for gap in batch.gaps:
                unread.add(gap.start, gap.end, gap.cause)
            for lost in batch.lost:
                # If another table's part of a record is lost, the events of this table are decoded.
                if lost.table_id == self.table_id:
                    unread.add(lost.start, lost.end, lost.reason)
            if batch.schema_changes is not None:
                schema = schema.with_changes(batch.schema_changes)
            if batch.blocked is not None:
                abandoned.append((batch.blocked.table_id, batch.blocked.column))
            elif batch.stop == "end":
                return


@dataclass(slots=True)
class _UnreadRanges:
    segment: str
    rows: list[dict[str, Any]] = field(default_factory=list)

    def add(self, start: int, end: int | None, cause: str) -> None:
        if len(self.rows) < _MOST_RANGES:
            self.rows.append({"segment": self.segment, "start": start, "end": end, "cause": cause})
        else:
            self.rows[-1]["end"] = end

    def batch(self) -> pa.RecordBatch:
        nulls = [pa.nulls(len(self.rows), each.type) for each in EVENTS]
        return pa.record_batch([*nulls, pa.array(self.rows, UNREAD)], schema=COLUMNS)


def _with_nulls(batch: EventBatch) -> pa.RecordBatch:
    events = pa.record_batch(batch)
    columns = [events.column(name) for name in EVENTS.names]
    return pa.record_batch([*columns, pa.nulls(len(events), UNREAD)], schema=COLUMNS)


@dataclass(frozen=True, slots=True)
class UnreadRange:
    """A range of a segment that could not be read. `end` is None for the end of the segment."""

    segment: str
    start: int
    end: int | None
    cause: str

    def __str__(self) -> str:
        end = "the end" if self.end is None else str(self.end)
        return f"{self.segment}: positions {self.start} to {end}: {self.cause}"


@dataclass(frozen=True, slots=True)
class ArchivedSegments:
    """The segments in a folder and its subfolders."""

    files: DataFrame
    """`path`, `content`, `completed_at`."""
    count: int
    size_bytes: int
    oldest_ms: int
    """Id of the oldest segment: roughly when its node started, in milliseconds since 1970."""

    def events(self, decoder: SegmentDecoder) -> tuple[DataFrame, Observation]:
        """The events of a table (`EVENTS`), and the observation for `unread_ranges`.

        A missing key fails the query; a damaged segment does not.
        """
        decoded = self.files.mapInArrow(decoder.decode_all, from_arrow_schema(COLUMNS))
        observation = Observation()
        unread = F.col("unread")
        observed = decoded.observe(
            observation,
            # Before Spark 4.1, an observation cannot return lists of structs to Python.
            F.to_json(F.collect_list(unread), {"ignoreNullFields": "false"}).alias("unread"),
            F.count("value").alias("events"),
        )
        return observed.where(unread.isNull()).select(*EVENTS.names), observation


def find_segments(session: SparkSession, location: str) -> ArchivedSegments:
    """The segments at a folder or URI. Raises `ConfigError` if there is none."""
    logs = _read_files(session, location, "CommitLog-*.log*").where(F.col("path").rlike(_LOG))
    found = logs.agg(
        F.count("path").alias("count"),
        F.sum("length").alias("bytes"),
        F.min(F.regexp_extract("path", _SEGMENT_ID, 1).cast("bigint")).alias("oldest"),
    ).first()
    if found is None or not found["count"]:
        raise ConfigError(
            f"segments: {location} has no segment (CommitLog-<version>-<id>.log). Use the folder "
            "into which the agents archive segments."
        )
    indexes = _read_files(session, location, "CommitLog-*_cdc.idx")
    completed = F.regexp_extract(F.col("content").cast("string"), _COMPLETED, 1)
    ends = indexes.select(
        _segment(r"_cdc\.idx$").alias("segment"),
        completed.try_cast("bigint").alias("completed_at"),
    )
    files = (
        logs.withColumn("segment", _segment(r"\.log(\.gz)?$"))
        .join(F.broadcast(ends), "segment", "left")
        .select("path", "content", "completed_at")
    )
    return ArchivedSegments(files, found["count"], found["bytes"], found["oldest"])


def unread_ranges(observation: Observation) -> Sequence[UnreadRange]:
    """The unread ranges, once an action on the events has completed."""
    found = {UnreadRange(**row) for row in json.loads(observation.get["unread"])}
    return sorted(found, key=lambda each: (each.segment, each.start))


def _read_files(session: SparkSession, location: str, names: str) -> DataFrame:
    reader = session.read.format("binaryFile").option("recursiveFileLookup", "true")
    return reader.option("pathGlobFilter", names).load(location)


def _segment(ending: str) -> Column:
    return F.regexp_replace("path", ending, "")

"""Archived commit-log segments as DataFrames of events.

The agent's transfers `archive`, `gcs` and `s3` keep segments with their indexes. Each task reads
whole segments on any file system that Hadoop supports, and decodes them with the parser.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from sidecar.errors import ConfigError
from spark_jobs.source.segment_decoder import COLUMNS, EVENTS, SegmentDecoder

_LOG = r"CommitLog-\d{1,10}-\d{1,19}\.log(\.gz)?$"
_SEGMENT_ID = r"CommitLog-\d+-(\d+)\.log"
_COMPLETED = r"^(\d{1,10})\nCOMPLETED"


@dataclass(frozen=True, slots=True)
class UnreadRange:
    """A range of a segment without events. `end` is None for the end of the segment."""

    segment: str
    start: int
    end: int | None
    cause: str

    def __str__(self) -> str:
        end = "the end" if self.end is None else str(self.end)
        return f"{self.segment}: positions {self.start} to {end}: {self.cause}"


@dataclass(frozen=True, slots=True)
class ArchivedSegments:
    """The segments of a folder and its subfolders."""

    location: str
    files: DataFrame
    """`path`, `content`, `completed_at`."""
    count: int
    size_bytes: int
    oldest_ms: int
    """Id of the oldest segment: about the time when its node started, in milliseconds."""

    def events(self, decoder: SegmentDecoder) -> tuple[DataFrame, Observation]:
        """The events of a table (`EVENTS`), and the observation for `unread_ranges`.

        A segment without its key fails the query; other damage does not.
        """
        decoded = self.files.mapInArrow(decoder.decode_all, from_arrow_schema(COLUMNS))
        observation = Observation()
        unread = F.col("unread")
        observed = decoded.observe(
            observation,
            # Before Spark 4.1 an observation returns no lists of structs to Python.
            F.to_json(F.collect_list(unread), {"ignoreNullFields": "false"}).alias("unread"),
            F.count("value").alias("events"),
        )
        return observed.where(unread.isNull()).select(*EVENTS.names), observation


def archived_segments(session: SparkSession, location: str) -> ArchivedSegments:
    """The segments at a folder or URI. Raises `ConfigError` if there is none."""
    logs = _files(session, location, "CommitLog-*.log*").where(F.col("path").rlike(_LOG))
    found = logs.agg(
        F.count("path").alias("count"),
        F.sum("length").alias("bytes"),
        F.min(F.regexp_extract("path", _SEGMENT_ID, 1).cast("bigint")).alias("oldest"),
    ).first()
    if found is None or not found["count"]:
        raise ConfigError(
            f"segments: {location} has no segment (CommitLog-<version>-<id>.log). Name the folder "
            "into which the agents archive segments."
        )
    indexes = _files(session, location, "CommitLog-*_cdc.idx")
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
    return ArchivedSegments(location, files, found["count"], found["bytes"], found["oldest"])


def unread_ranges(observation: Observation) -> Sequence[UnreadRange]:
    """The ranges without events, after an action on the events has ended."""
    found = {UnreadRange(**row) for row in json.loads(observation.get["unread"])}
    return sorted(found, key=lambda each: (each.segment, each.start))


def _files(session: SparkSession, location: str, names: str) -> DataFrame:
    reader = session.read.format("binaryFile").option("recursiveFileLookup", "true")
    return reader.option("pathGlobFilter", names).load(location)


def _segment(ending: str) -> Column:
    return F.regexp_replace("path", ending, "")

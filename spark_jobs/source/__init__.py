"""Kafka topics as DataFrames of events. `spark_jobs.source.events` lists the columns."""

from spark_jobs.source.events import EVENT_COLUMNS, events
from spark_jobs.source.kafka import read, read_stream

__all__ = ["EVENT_COLUMNS", "events", "read", "read_stream"]

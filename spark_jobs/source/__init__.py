"""Kafka topics as DataFrames of events; which columns, `spark_jobs.source.events` says."""

from spark_jobs.source.events import EVENT_COLUMNS, events
from spark_jobs.source.kafka import read, read_stream

__all__ = ["EVENT_COLUMNS", "events", "read", "read_stream"]

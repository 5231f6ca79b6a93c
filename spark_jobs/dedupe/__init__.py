"""Deduplication: every replica publishes its writes; dedupe keeps one copy of each event.

`dedupe` maps a DataFrame of events to a DataFrame of events, for notebooks and pipelines.
`python -m spark_jobs.dedupe` runs it as a streaming job from Kafka topics to Delta or Kafka.
"""

from spark_jobs.dedupe.options import DedupeOptions
from spark_jobs.dedupe.replica_copies import dedupe

__all__ = ["DedupeOptions", "dedupe"]

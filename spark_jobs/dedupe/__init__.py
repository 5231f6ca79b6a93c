"""One copy of each event: every replica publishes what it writes, and this keeps the first copy.

`dedupe` is a function from events to events, for notebooks and pipelines; `python -m
spark_jobs.dedupe` is the job around it, from Kafka topics to Delta or Kafka.
"""

from spark_jobs.dedupe.first_copies import dedupe
from spark_jobs.dedupe.options import DedupeOptions

__all__ = ["DedupeOptions", "dedupe"]

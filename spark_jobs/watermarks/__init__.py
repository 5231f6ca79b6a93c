"""Determines up to which time the topics contain every acknowledged write of a table."""

from spark_jobs.watermarks.job import complete_until
from spark_jobs.watermarks.state import read_watermarks

__all__ = ["complete_until", "read_watermarks"]

"""Typed tables in Delta or Iceberg, kept up to date from a version store."""

from spark_jobs.tables.options import TargetOptions
from spark_jobs.tables.target import read_table

__all__ = ["TargetOptions", "read_table"]

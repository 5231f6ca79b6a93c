"""Kafka topics as DataFrames of events. `spark_jobs.source.events` lists the columns."""

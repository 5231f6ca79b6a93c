"""Reconstructs Cassandra tables from the events of all replicas.

`reconcile` writes events to a layout, and `table_at` reads the source table at a second.
`python -m spark_jobs.reconcile` runs them as a streaming job.
"""

"""Keeps the latest document of each key from MongoDB's change events.

`changes` and `latest` map a DataFrame to a DataFrame, and `DocumentTable` is the Delta table.
`python -m spark_jobs.mongo_reconcile` runs them as a streaming job.
"""

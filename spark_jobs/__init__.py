"""Spark jobs over the events of all replicas: one copy of each event, or the table itself."""

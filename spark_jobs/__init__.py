"""Spark jobs that turn all replicas' events into deduplicated events or reconstructed tables."""

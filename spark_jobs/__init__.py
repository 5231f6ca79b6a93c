"""Spark jobs on the events of all replicas: deduplicated events, or the reconstructed tables."""

"""Compares a live Cassandra table with the version store, by token ranges."""

"""Rebuilds a source table as it was at a given time, or without the writes of a time window."""

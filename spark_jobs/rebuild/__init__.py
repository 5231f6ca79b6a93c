"""Rebuilds a source table: as it was at a time, or without the writes of a window."""

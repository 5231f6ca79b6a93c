"""Snapshots: existing rows, read from the node over CQL and sent as events."""

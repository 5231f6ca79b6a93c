"""Checks of `agent check`: directories, node, broker, progress. They change nothing."""

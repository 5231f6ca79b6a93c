"""Rows that were there before: copied from the node beside the log, as events of their own."""

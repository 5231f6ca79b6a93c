"""Schemas over time: what feeders and the log say, in whatever order, and what is read by it."""

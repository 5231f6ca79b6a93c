"""A consumer of references to oversized events."""

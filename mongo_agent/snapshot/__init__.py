"""Snapshots of existing documents, chunk by chunk, alongside the stream."""

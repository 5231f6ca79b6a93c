"""Snapshots of existing documents, chunk by chunk, beside the stream."""

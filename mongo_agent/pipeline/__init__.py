"""Change streams and snapshots on their way to acknowledged messages and stored offsets."""

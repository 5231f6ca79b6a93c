"""Selection of the collections to capture, for streams and snapshots."""

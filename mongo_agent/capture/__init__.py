"""Selection of captured collections, for streams and snapshots alike."""

"""Change streams: cursors, positions, resumption and recovery."""

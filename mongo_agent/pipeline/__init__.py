"""The pipeline from change streams and snapshots to acknowledged messages and stored offsets."""

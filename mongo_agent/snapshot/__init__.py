"""Snapshots of existing documents, chunk by chunk, beside the stream."""

from mongo_agent.snapshot.encoding import EncodedChunk
from mongo_agent.snapshot.progress import SnapshotProgress
from mongo_agent.snapshot.snapshotter import Snapshotter

__all__ = ["EncodedChunk", "SnapshotProgress", "Snapshotter"]

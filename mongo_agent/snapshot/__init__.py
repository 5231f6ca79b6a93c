"""Copying what is in collections already, chunk by chunk, while the stream goes on."""

from mongo_agent.snapshot.encoding import EncodedChunk
from mongo_agent.snapshot.progress import SnapshotProgress
from mongo_agent.snapshot.snapshotter import Snapshotter

__all__ = ["EncodedChunk", "SnapshotProgress", "Snapshotter"]

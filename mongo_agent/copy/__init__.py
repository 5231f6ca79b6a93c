"""Copying what is in collections already, chunk by chunk, while the stream goes on."""

from mongo_agent.copy.copying import Copying
from mongo_agent.copy.encoding import CopiedChunk
from mongo_agent.copy.progress import CopyProgress

__all__ = ["CopiedChunk", "CopyProgress", "Copying"]

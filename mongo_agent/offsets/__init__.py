"""Offsets: the position, open transaction and snapshot progress of each stream."""

from mongo_agent.offsets.agent_offsets import AgentOffsets, StreamOffset

OFFSET_FILE = "mongo_offset.properties"
"""The offset file in `offset.backing.store.dir`."""

__all__ = ["OFFSET_FILE", "AgentOffsets", "StreamOffset"]

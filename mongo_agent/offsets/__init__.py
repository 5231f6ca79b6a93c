"""What is delivered: where each stream has come to, its open transaction, and its copies."""

from mongo_agent.offsets.agent_offsets import AgentOffsets, StreamOffset

OFFSET_FILE = "mongo_offset.properties"
"""The file in `offset.backing.store.dir` that holds the position."""

__all__ = ["OFFSET_FILE", "AgentOffsets", "StreamOffset"]

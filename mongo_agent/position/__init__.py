"""What is delivered: where each stream has come to, its open transaction, and its copies."""

from mongo_agent.position.position import AgentPosition, LanePosition

OFFSET_FILE = "mongo_offset.properties"
"""The file in `offset.backing.store.dir` that holds the position."""

__all__ = ["OFFSET_FILE", "AgentPosition", "LanePosition"]

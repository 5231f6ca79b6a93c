"""What is delivered: where each stream has come to, its open transaction, and its copies."""

from mongo_agent.position.position import AgentPosition, LanePosition

__all__ = ["AgentPosition", "LanePosition"]

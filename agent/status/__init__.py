"""The status of the agent: facts of its parts, the conditions that follow, and their report."""

from agent.status.conditions import conditions_of, status_from
from agent.status.facts import Facts, SchemaFacts
from agent.status.view import SERVICE_NAME, AgentStatus

__all__ = [
    "SERVICE_NAME",
    "AgentStatus",
    "Facts",
    "SchemaFacts",
    "conditions_of",
    "status_from",
]

"""The status of the agent: facts of its parts, conditions that follow from them, and HTTP."""

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

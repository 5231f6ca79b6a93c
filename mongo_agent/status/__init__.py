"""The status of the agent: facts of its parts, the conditions that follow, and their report."""

from mongo_agent.status.conditions import conditions_of, status_from
from mongo_agent.status.facts import Facts, StreamFacts
from mongo_agent.status.view import SERVICE_NAME, MongoStatus

__all__ = [
    "SERVICE_NAME",
    "Facts",
    "MongoStatus",
    "StreamFacts",
    "conditions_of",
    "status_from",
]

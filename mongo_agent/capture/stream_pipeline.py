"""The aggregation pipeline of a change stream: the agent's filter and the stages of the user."""

from collections.abc import Collection
from dataclasses import dataclass

from mongo_agent.capture.match_stage import match_stage
from mongo_agent.capture.namespaces import Namespaces
from mongo_agent.capture.user_stages import Order, Stage, ordered_stages, read_stages

NATIVE_EVENTS = ("drop", "dropDatabase", "invalidate", "rename")
"""Event types without a document that every server sends."""
SCHEMA_EVENTS = (*NATIVE_EVENTS, "create", "createIndexes", "dropIndexes", "modify")
"""Event types of `topic.schema.changes`; all but `NATIVE_EVENTS` exist from MongoDB 6.0 on."""


@dataclass(frozen=True, slots=True)
class EventTypes:
    """Event types of a stream: those of documents (`operations`) and all others."""

    operations: Collection[str]
    others: Collection[str]


def stream_pipeline(
    namespaces: Namespaces,
    event_types: EventTypes,
    *,
    signal_collection: str | None = None,
    user_stages: str | None = None,
    order: Order = "internal_first",
) -> tuple[Stage, ...]:
    """The stages after `$changeStream`. `user_stages` is a list in extended JSON.

    Inserts into `signal_collection` pass the agent's own filter.
    """
    stage = match_stage(namespaces, event_types.operations, event_types.others)
    if signal_collection is not None:
        database, _, name = signal_collection.partition(".")
        signals = {"operationType": "insert", "ns.db": database, "ns.coll": name}
        stage = {"$match": {"$or": [stage["$match"], signals]}}
    users = [] if user_stages is None else read_stages(user_stages)
    return tuple(ordered_stages([stage], users, order))


def empty_pipeline() -> tuple[Stage, ...]:
    """The stages of a stream that returns no event."""
    return ({"$match": {"operationType": {"$in": []}}},)

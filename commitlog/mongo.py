"""Messages of MongoDB's change streams, from raw BSON (docs/reference/mongodb-event-format.md)."""

from commitlog._commitlog import (
    MongoBatch,
    MongoEncoder,
    MongoEvents,
    MongoTransaction,
    RefusedEvent,
    event_times,
    events_of_reply,
    join_fragments,
    split_of,
)

__all__ = [
    "MongoBatch",
    "MongoEncoder",
    "MongoEvents",
    "MongoTransaction",
    "RefusedEvent",
    "event_times",
    "events_of_reply",
    "join_fragments",
    "split_of",
]

"""Messages of MongoDB's change streams, from raw BSON (docs/mongo-event-format.md)."""

from commitlog._commitlog import (
    MongoBatch,
    MongoEncoder,
    MongoTransaction,
    RefusedEvent,
    event_times,
    join_fragments,
    split_of,
)

__all__ = [
    "MongoBatch",
    "MongoEncoder",
    "MongoTransaction",
    "RefusedEvent",
    "event_times",
    "join_fragments",
    "split_of",
]

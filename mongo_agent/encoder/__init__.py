"""Encode raw BSON of MongoDB's change streams as messages (docs/reference/mongodb-event-format.md).

The crate in this folder does the work. One extension module has the code of both agents; this
package exports the part of MongoDB. `__init__.pyi` describes it.
"""

from commitlog._commitlog import _mongo

MongoBatch = _mongo.MongoBatch
MongoEncoder = _mongo.MongoEncoder
MongoEvents = _mongo.MongoEvents
MongoTransaction = _mongo.MongoTransaction
RefusedEvent = _mongo.RefusedEvent
event_times = _mongo.event_times
events_of_reply = _mongo.events_of_reply
join_fragments = _mongo.join_fragments
split_of = _mongo.split_of

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

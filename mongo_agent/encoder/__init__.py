"""Encode raw BSON of MongoDB's change streams as messages (docs/reference/mongodb-event-format.md).

The crate in this folder does the work. One extension module has the code of both agents; this
package exports the part of MongoDB. `__init__.pyi` describes it.
"""

from commitlog._commitlog import _mongo

ChangeEvents = _mongo.ChangeEvents
FragmentJoiner = _mongo.FragmentJoiner
MongoBatch = _mongo.MongoBatch
MongoEncoder = _mongo.MongoEncoder
MongoTransaction = _mongo.MongoTransaction
MongoTransform = _mongo.MongoTransform
EncodingFailure = _mongo.EncodingFailure
StreamReply = _mongo.StreamReply
id_document = _mongo.id_document

__all__ = [
    "ChangeEvents",
    "EncodingFailure",
    "FragmentJoiner",
    "MongoBatch",
    "MongoEncoder",
    "MongoTransaction",
    "MongoTransform",
    "StreamReply",
    "id_document",
]

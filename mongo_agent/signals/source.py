"""The signal channel `source`: inserts into a collection, read from the change stream."""

from collections.abc import Iterable, Iterator

import bson
from bson.errors import InvalidBSON
from bson.raw_bson import RawBSONDocument

from mongo_agent.signals.signal import Signal, parse_signal

CHANNEL = "source"


def signals_among(events: Iterable[bytes], collection: str | None) -> Iterator[Signal]:
    """The signals among raw events, in order; `collection` None disables the channel."""
    if collection is not None:
        yield from filter(None, (signal_of(event, collection) for event in events))


def signal_of(event: bytes, collection: str) -> Signal | None:
    """Parse the signal of a raw change event; None unless it is an insert into the collection.

    The result of the signal reports missing fields.
    """
    try:
        raw = RawBSONDocument(event)
        ns = raw.get("ns")
        if raw.get("operationType") != "insert" or ns is None:
            return None
        if f"{ns.get('db')}.{ns.get('coll')}" != collection:
            return None
        inserted = raw.get("fullDocument")
        document = {} if inserted is None else bson.decode(inserted.raw)
        token = raw["_id"].get("_data")
    except (InvalidBSON, KeyError):
        return None
    return parse_signal(document, CHANNEL, occurrence=str(token))

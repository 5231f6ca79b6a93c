"""The signal channel `source`: inserts into a collection, read from the change stream."""

from collections.abc import Iterable, Iterator
from typing import Protocol

import bson
from bson.errors import InvalidBSON
from bson.raw_bson import RawBSONDocument

from mongo_agent.signals.signal import Signal, parse_signal

CHANNEL = "source"


class Events(Protocol):
    """A batch of raw events."""

    @property
    def events(self) -> Iterable[bytes]: ...


class SignalCollection:
    """The signalling collection, `database.collection`; None disables the channel."""

    def __init__(self, name: str | None) -> None:
        self._name = name

    def signals(self, read: Events) -> Iterator[Signal]:
        """The signals among the events, in order."""
        if self._name is None:
            return
        for event in read.events:
            signal = signal_of(event, self._name)
            if signal is not None:
                yield signal


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

"""The signalling collection: documents that somebody inserts are seen in the change stream."""

from collections.abc import Iterable, Iterator
from typing import Protocol

import bson
from bson.errors import InvalidBSON
from bson.raw_bson import RawBSONDocument

from mongo_agent.signals.signal import Signal, parse_signal

CHANNEL = "source"


class Events(Protocol):
    """Raw events that were read."""

    @property
    def events(self) -> Iterable[bytes]: ...


class SignalCollection:
    """`name` is `database.collection`, None where there is none."""

    def __init__(self, name: str | None) -> None:
        self._name = name

    def signals(self, read: Events) -> Iterator[Signal]:
        """Of events, those that are signals, in their order."""
        if self._name is None:
            return
        for event in read.events:
            signal = signal_of(event, self._name)
            if signal is not None:
                yield signal


def signal_of(event: bytes, collection: str) -> Signal | None:
    """The signal that a raw event of a change stream is; None for anything but an insert into the
    signalling collection. What such a document lacks is told by the answer to it."""
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

"""A signal from any channel, its result, and the channel `source`: inserts into a collection."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass, replace
from typing import Any

import bson
from bson.errors import InvalidBSON
from bson.raw_bson import RawBSONDocument

from mongo_agent.documents import check_depth, parse_extended_json, parse_json

_RESULT_POLL_S = 1.0


class InvalidSignalError(ValueError):
    """An invalid signal; the message is for its sender."""


@dataclass(frozen=True, slots=True)
class Signal:
    """A signal with Debezium's fields `type` and `data`; `id` comes from the sender, for logs.

    `occurrence` identifies the signal in a channel that may deliver it twice; `kafka_offset` is its
    offset in a topic.
    """

    id: str
    type: str
    data: Mapping[str, Any]
    channel: str
    occurrence: str | None = None
    kafka_offset: int | None = None


@dataclass(frozen=True, slots=True)
class SignalResult:
    is_accepted: bool
    message: str


def is_answered(future: Future[SignalResult], is_stopping: Callable[[], bool]) -> bool:
    """Wait for the result; return False if the agent stops first. The next start then processes the
    signal again."""
    while not is_stopping():
        try:
            future.result(_RESULT_POLL_S)
        except FutureTimeoutError:
            continue
        except CancelledError:
            return False
        return True
    return False


def parse_signal(document: Mapping[str, Any], channel: str) -> Signal:
    """Parse an object with `id` or `_id`, `type` and `data`, which may be JSON text.

    Invalid fields are kept and rejected later, by name.
    """
    identity, kind = document.get("id", document.get("_id", "")), document.get("type")
    return Signal(str(identity), str(kind), _data(document.get("data")), channel)


def parse_signal_text(text: bytes, channel: str) -> Signal:
    """Parse JSON text. Other text becomes a signal without a type, which the agent rejects."""
    try:
        document = parse_json(text)
    except ValueError:
        document = None
    return parse_signal(document if isinstance(document, dict) else {}, channel)


def _data(data: Any) -> Mapping[str, Any]:
    if isinstance(data, str):
        try:
            data = parse_extended_json(data) if data.strip() else {}
        except ValueError:
            return {"data": data}
    if data is None:
        return {}
    try:
        check_depth(data)
    except ValueError as error:
        return {"data": str(error)}
    return data if isinstance(data, Mapping) else {"data": data}


def signals_among(events: Iterable[bytes], collection: str | None) -> Iterator[Signal]:
    """Yield the signals among raw events, in order; `collection` None disables the channel."""
    if collection is not None:
        yield from filter(None, (source_signal(event, collection) for event in events))


def source_signal(event: bytes, collection: str) -> Signal | None:
    """Parse a signal from a raw change event; return None unless it inserts into the collection.

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
    return replace(parse_signal(document, "source"), occurrence=str(token))

"""Segments read as Avro, decoded by fastavro, and held against the JSON of the same events."""

import base64
import io
import json
import math
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro

import commitlog
from sidecar.encoding import SchemaIds, Unregistered
from tests.support.segments.segment_reading import reader_of
from tests.support.segments.skipping_reader import SkippingReader

MAGIC = b"\0"
_ID = struct.Struct(">I")


@dataclass(frozen=True, slots=True)
class Message:
    """One message, its bytes as they are."""

    topic: str
    key: bytes
    value: bytes
    headers: tuple[tuple[str, bytes], ...]


@dataclass
class Ids:
    """Ids given in turn, as a registry would, and the schemas behind them."""

    ids: SchemaIds = field(default_factory=SchemaIds)
    schemas: list[Unregistered] = field(default_factory=list)
    _parsed: dict[int, Any] = field(default_factory=dict)

    def give(self, wanted: list[Unregistered]) -> None:
        assert wanted
        for schema in wanted:
            assert self.ids.get(schema) is None
            self.ids.set(schema, len(self.schemas))
            self.schemas.append(schema)

    def schema(self, number: int) -> str:
        """Behind an id."""
        return self.schemas[number].schema

    def decoded(self, message: bytes) -> dict[str, Any]:
        """A key or value that is a record, after its schema id."""
        decoded = self.value(message)
        assert isinstance(decoded, dict)
        return decoded

    def both(self, message: Message) -> tuple[dict[str, Any], dict[str, Any]]:
        """Key and value."""
        return self.decoded(message.key), self.decoded(message.value)

    def value(self, message: bytes) -> Any:
        """The bytes after a schema id."""
        assert message[:1] == MAGIC
        (number,) = _ID.unpack_from(message, 1)
        if number not in self._parsed:
            self._parsed[number] = fastavro.parse_schema(json.loads(self.schema(number)))
        rest = io.BytesIO(message[1 + _ID.size :])
        decoded = fastavro.schemaless_reader(rest, self._parsed[number], None)
        assert not rest.read(), "bytes are left behind the record"
        return decoded


def messages(
    path: Path,
    schema: commitlog.Schema,
    event_format: commitlog.EventFormat,
    ids: Ids | None = None,
    *,
    max_events: int = 5000,
) -> Iterator[Message]:
    """All messages of a segment; schemas get ids when a read stops for them."""
    reader = SkippingReader(reader_of(path))
    while True:
        batch, blocked = reader.read(schema, event_format, complete=True, max_events=max_events)
        for topic, key, value, headers, _ in batch.messages(0, len(batch)):
            assert value is not None
            yield Message(topic, key, value, tuple(headers))
        if batch.stop == "end":
            return
        if blocked is not None:
            assert ids is not None, blocked.reason
            ids.give(blocked.unregistered)


def differences(avro: Any, other: Any, place: str = "") -> Iterator[str]:
    """Where a decoded value does not mean what the JSON says."""
    match avro, other:
        case Mapping(), dict():
            yield from _of_records(avro, other, place)
        case [*ours], list():
            if len(ours) != len(other):
                yield f"{place}: {len(ours)} and {len(other)} elements"
            for index, (one, two) in enumerate(zip(ours, other, strict=False)):
                if isinstance(two, list) and isinstance(one, dict):
                    one = [one["key"], one["value"]]
                yield from differences(one, two, f"{place}[{index}]")
        case bytes(), str():
            if base64.b64encode(avro).decode() != other:
                yield f"{place}: {avro!r} and {other!r}"
        case Decimal(), str():
            # A varint: the digits of the logical type, and the bytes behind them.
            if avro != int.from_bytes(base64.b64decode(other), "big", signed=True):
                yield f"{place}: {avro!r} and {other!r}"
        case float(), _:
            if not _is_same_number(avro, float(other)):
                yield f"{place}: {avro!r} and {other!r}"
        case _:
            if avro != other or isinstance(avro, bool) != isinstance(other, bool):
                yield f"{place}: {avro!r} and {other!r}"


def _of_records(avro: Mapping[str, Any], other: dict[str, Any], place: str) -> Iterator[str]:
    for name in other.keys() - avro.keys():
        yield f"{place}.{name}: only the JSON has it"
    for name, value in avro.items():
        if name in other:
            yield from differences(value, other[name], f"{place}.{name}")
        elif name == "removed" and isinstance(other.get("value"), dict):
            # Fields of a user type: the JSON has them as members that are null.
            removed = value or []
            if any(other["value"].get(field, "absent") is not None for field in removed):
                yield f"{place}.removed: {removed} and {other['value']}"
        elif value is not None:
            yield f"{place}.{name}: only the Avro has it: {value!r}"


def _is_same_number(one: float, two: float) -> bool:
    if math.isnan(one) or math.isnan(two):
        return math.isnan(one) and math.isnan(two)
    if one == two:
        return True
    # A float of 32 bits, whose shortest digits read as another double.
    return bool(one == struct.unpack("<f", struct.pack("<f", two))[0])

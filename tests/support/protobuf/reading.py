"""Messages in Protobuf as plain values, to compare with the JSON of the same events."""

import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message as ProtobufMessage
from google.protobuf.unknown_fields import UnknownFieldSet

import commitlog
from tests.support.avro.encodings import format_of
from tests.support.avro.reading import Ids, Message, messages
from tests.support.protobuf.compiler import message_class

_HEADER = struct.Struct(">BIB")
_NAMES_OF_CELLS = "Cells"


@dataclass
class ProtobufIds(Ids):
    """Ids given in turn; messages are read by Google's library, with the schema of their id."""

    classes: dict[int, type[ProtobufMessage]] = field(default_factory=dict)

    def message(self, data: bytes) -> ProtobufMessage:
        magic, number, index = _HEADER.unpack_from(data)
        assert (magic, index) == (0, 0)
        if number not in self.classes:
            self.classes[number] = message_class(self.schema(number))
        found = self.classes[number]()
        assert found.ParseFromString(data[_HEADER.size :]) == len(data) - _HEADER.size
        # Every byte belongs to a field of the schema, and is where it should be.
        assert not has_unknown_fields(found)
        return found

    def decoded(self, message: bytes) -> dict[str, Any]:
        found = plain(self.message(message))
        assert isinstance(found, dict)
        return found


def has_unknown_fields(message: ProtobufMessage) -> bool:
    if len(UnknownFieldSet(message)):
        return True
    for descriptor, value in message.ListFields():
        if descriptor.type == FieldDescriptor.TYPE_MESSAGE:
            parts = value if descriptor.is_repeated else [value]
            if any(map(has_unknown_fields, parts)):
                return True
    return False


def plain(message: ProtobufMessage) -> Any:
    """Fields by name; what is absent is None. Lists, maps and clustering values are themselves."""
    name = message.DESCRIPTOR.name
    if name.startswith("List_"):
        elements = [_single(element) for element in message.element]
        for index in message.null_at:
            elements[index] = None
        return elements
    if name.startswith("Map_"):
        return _map(message)
    if name == "ClusteringValue":
        return _value(message, message.DESCRIPTOR.fields_by_name["value"])
    found = {each.name: _value(message, each) for each in message.DESCRIPTOR.fields}
    if name == _NAMES_OF_CELLS and found["ck"] is not None:
        found["ckv"] = found["ckv"] or []
    if name == "RangeBound":
        found["values"] = found["values"] or []
    return found


def _map(message: ProtobufMessage) -> Any:
    entry = message.DESCRIPTOR.fields_by_name["entry"].message_type
    entries = [plain(each) for each in message.entry]
    if entry.fields_by_name["key"].type != FieldDescriptor.TYPE_STRING:
        return entries
    return {each["key"] or "": each["value"] for each in entries}


def _value(message: ProtobufMessage, descriptor: FieldDescriptor) -> Any:
    value = getattr(message, descriptor.name)
    if descriptor.is_repeated:
        return [_single(each) for each in value] or None
    if descriptor.has_presence and not message.HasField(descriptor.name):
        return None
    return _single(value)


def _single(value: Any) -> Any:
    return plain(value) if isinstance(value, ProtobufMessage) else value


def both(path: Path, ddl: str, **choices: Any) -> tuple[ProtobufIds, Message, Message]:
    """The only event of a segment, in Protobuf and in JSON."""
    schema, ids = commitlog.Schema.from_cql(ddl), ProtobufIds()
    as_protobuf = format_of(**choices, key="protobuf", value="protobuf", schema_ids=ids.ids)
    as_json = format_of(**{"names": "avro", **choices})
    (ours,) = messages(path, schema, as_protobuf, ids)
    (other,) = messages(path, schema, as_json)
    return ids, ours, other


def value_schema(path: Path, ddl: str, **choices: Any) -> str:
    """The schema of the value of the only event."""
    return both(path, ddl, **choices)[0].schemas[-1].schema

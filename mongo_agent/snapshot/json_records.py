"""Records as JSON: default values are omitted, bounds are base64."""

import base64
from collections.abc import Callable, Mapping
from dataclasses import fields
from enum import Enum
from typing import Any

from mongo_agent.capture.namespaces import Namespaces
from mongo_agent.documents.cluster_time import ClusterTime
from mongo_agent.snapshot.records import (
    Chunk,
    CollectionSnapshot,
    FinishedSnapshot,
    SnapshotOutcome,
    SnapshotReason,
    SnapshotRequest,
)


def to_json_value(value: Any) -> Any:
    match value:
        case bytes():
            return base64.b64encode(value).decode()
        case Enum():
            return value.value
        case tuple():
            return [to_json_value(each) for each in value]
        case None | str() | int():
            return value
    defaults = {each.name: each.default for each in fields(value)}
    values = {name: getattr(value, name) for name in defaults}
    return {name: to_json_value(each) for name, each in values.items() if each != defaults[name]}


class RecordReader:
    """Converts the JSON values of a record back, name by name.

    Raises AttributeError, KeyError, TypeError or ValueError for invalid values.
    """

    def __init__(self, stored: Mapping[str, Any]) -> None:
        self.values = dict(stored)

    def one(self, name: str, read: Callable[[Any], Any]) -> None:
        """Convert an optional value."""
        if name in self.values:
            self.values[name] = read(self.values[name])

    def each(self, name: str, read: Callable[[Any], Any]) -> None:
        """Convert the values of an optional list."""
        self.one(name, lambda found: tuple(read(value) for value in found))

    @classmethod
    def request(cls, stored: Mapping[str, Any]) -> SnapshotRequest:
        reader = cls(stored)
        reader.one("reason", SnapshotReason)
        reader.each("names", str)
        reader.each("but", str)
        reader.each("filters", lambda pair: (str(pair[0]), str(pair[1])))
        reader.one("known", cls.namespaces)
        return SnapshotRequest(**reader.values)

    @classmethod
    def collection(cls, stored: Mapping[str, Any]) -> CollectionSnapshot:
        reader = cls(stored)
        reader.one("reason", SnapshotReason)
        reader.one("planned_to", _bytes)
        reader.each("chunks", cls._chunk)
        reader.one("since", lambda time: ClusterTime(int(time["second"]), int(time["increment"])))
        return CollectionSnapshot(**reader.values)

    @classmethod
    def finished(cls, stored: Mapping[str, Any]) -> FinishedSnapshot:
        reader = cls(stored)
        reader.one("reason", SnapshotReason)
        reader.one("outcome", SnapshotOutcome)
        return FinishedSnapshot(**reader.values)

    @classmethod
    def namespaces(cls, stored: Mapping[str, Any]) -> Namespaces:
        reader = cls(stored)
        for name in stored.keys() - {"mode"}:
            reader.each(name, str)
        return Namespaces(**reader.values)

    @staticmethod
    def _chunk(stored: Mapping[str, Any]) -> Chunk:
        return Chunk(_bytes(stored["lower"]), _bytes(stored["upper"]))


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text, validate=True)

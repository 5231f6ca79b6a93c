"""Offsets of Kafka Connect in its stores: key and value, both JSON.

    ["shop-connector", {"server_id": "shop"}]  →  {"sec": 1707147246, "ord": 3, …}

A standalone worker stores them in a file (`offset.storage.file.filename`), a serialised Java map of
byte arrays (`FileOffsetBackingStore`). A distributed worker stores them in a topic
(`offset.storage.topic`); the agent also reads its records as lines of text, as the console consumer
prints them with `print.key=true`.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import javaobj

from sidecar.errors import ConfigError

_JAVA_STREAM = b"\xac\xed"
_SEPARATOR = b"\t"

Record = tuple[bytes, bytes | None]
"""Key and value; a record without a value deletes the key."""


@dataclass(frozen=True, slots=True)
class ConnectOffset:
    connector: str
    partition: Mapping[str, Any]
    offset: Mapping[str, Any]


def read_file(content: bytes) -> list[Record]:
    """Parse the file of a standalone worker, or lines. Raises ConfigError for other content."""
    if content.startswith(_JAVA_STREAM):
        return _java_map(content)
    lines = [line for line in content.splitlines() if line.strip()]
    return [_line(number, line) for number, line in enumerate(lines, start=1)]


def connect_offsets(records: Iterable[Record]) -> list[ConnectOffset]:
    """The last offset of each key, in the order of the first records.

    Skips keys of another format: an offset topic may contain offsets of any connector.
    """
    last: dict[bytes, bytes | None] = {}
    for key, value in records:
        last[key] = value
    offsets = []
    for key, value in last.items():
        named, offset = _json(key), _json(value or b"null")
        if _is_key(named) and isinstance(offset, dict):
            offsets.append(ConnectOffset(named[0], named[1], offset))
    return offsets


def _java_map(content: bytes) -> list[Record]:
    # The library has no types.
    load: Any = javaobj.loads
    try:
        pairs = load(content).items()
        return [(_bytes(key), None if value is None else _bytes(value)) for key, value in pairs]
    except Exception as error:
        # The library raises arbitrary exceptions: struct.error, IndexError, AttributeError …
        raise ConfigError(
            f"The file is a serialised Java object, but not the map of byte arrays that Kafka "
            f"Connect writes: {error}. Use the file that `offset.storage.file.filename` names."
        ) from error


def _bytes(array: Iterable[int]) -> bytes:
    # Java's bytes are signed.
    return bytes(each & 0xFF for each in array)


def _line(number: int, line: bytes) -> Record:
    key, separator, value = line.partition(_SEPARATOR)
    if not separator:
        raise ConfigError(
            f"Line {number} is not an offset. It must be `<key><tab><value>`, as "
            "kafka-console-consumer.sh prints it with --property print.key=true."
        )
    return key.strip(), None if value.strip() in (b"null", b"") else value.strip()


def _json(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _is_key(named: Any) -> bool:
    return (
        isinstance(named, list)
        and len(named) == 2
        and isinstance(named[0], str)
        and isinstance(named[1], dict)
    )

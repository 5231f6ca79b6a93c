"""Recorded events in an encoding, checked against the same as JSON."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tests.support.avro.reading import Message, differences

Decode = Callable[[Message], tuple[Any, Any]]
"""Key and value of a message."""


def check(pairs: Iterable[tuple[Message, Message]], decode: Decode) -> int:
    """How many messages mean what the JSON of the same event says."""
    read = 0
    for ours, plain in pairs:
        assert (ours.topic, ours.headers) == (plain.topic, plain.headers)
        key, value = decode(ours)
        expected = json.loads(plain.value)
        # The clock of the reader.
        del value["ts_ms"], expected["ts_ms"]
        found = [*differences(key, json.loads(plain.key), "key"), *differences(value, expected)]
        assert not found, found[:5]
        read += 1
    return read


def check_content(found: Mapping[str, Any], plain: Mapping[str, Any]) -> None:
    """A decoded value has the row and the cells of the JSON."""
    for member in ("after", "cells"):
        assert [*differences(found[member], plain[member])] == []

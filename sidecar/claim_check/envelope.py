"""Splits the JSON value of an event into a reference and the members for the store.

    {"ts_ms": 1, "op": "i", "source": {…}, "after": {…}, "cells": {…}}
      reference   {"ts_ms": 1, "op": "i", "source": {…}, "after": null, "cells": null}
      stored      {"after": {…},"cells": {…}}

Both have the original bytes of each member, so numbers and repeated names stay as they are. The
stored members have neither clock nor origin: replicas and repeats store the same bytes.
"""

import re
from dataclasses import dataclass

import orjson

_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]', re.DOTALL)
_STORED = frozenset({"after", "before", "cells"})
_SMALL_BYTES = 1024
"""Every other member is stored if it is larger, except `source`."""


@dataclass(frozen=True, slots=True)
class SplitValue:
    """The two parts of a value."""

    reference: bytes
    stored: bytes


@dataclass(frozen=True, slots=True)
class _Member:
    """A member of the outermost object. Its JSON is at `start` … `stop`."""

    name: str
    start: int
    stop: int


def split_value(value: bytes) -> SplitValue | None:
    """The parts of a value; None when it is no JSON object or has nothing to store."""
    members = [each for each in _members(value) if _is_stored(each, value)]
    if not members:
        return None
    reference, end = bytearray(), 0
    for member in members:
        reference += value[end : member.start] + b"null"
        end = member.stop
    reference += value[end:]
    stored = b",".join(
        b"%b:%b" % (orjson.dumps(each.name), value[each.start : each.stop].strip())
        for each in members
    )
    return SplitValue(bytes(reference), b"{%b}" % stored)


def _is_stored(member: _Member, value: bytes) -> bool:
    if member.name == "source" or value[member.start : member.stop].strip() == b"null":
        return False
    return member.name in _STORED or member.stop - member.start > _SMALL_BYTES


def _members(value: bytes) -> list[_Member]:
    """Members of the outermost object; empty for other values."""
    found: list[_Member] = []
    if not value.lstrip().startswith(b"{"):
        return found
    depth, name, start = 0, "", -1
    for token in _TOKEN.finditer(value):
        match value[token.start()]:
            case 0x7B | 0x5B:
                depth += 1
            case 0x7D | 0x5D:
                depth -= 1
                if depth == 0 and start >= 0:
                    found.append(_Member(name, start, token.start()))
            case 0x22 if depth == 1 and start < 0:
                name = orjson.loads(token[0])
            case 0x3A if depth == 1:
                start = token.end()
            case 0x2C if depth == 1:
                found.append(_Member(name, start, token.start()))
                start = -1
    return found if depth == 0 else []

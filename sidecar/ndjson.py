"""Keys and values of events inside of lines of JSON."""

import base64

import orjson


def shown(part: bytes) -> orjson.Fragment | str:
    """JSON as it is, Avro as base64: no JSON begins with a zero."""
    return base64.b64encode(part).decode() if part[:1] == b"\0" else orjson.Fragment(part)

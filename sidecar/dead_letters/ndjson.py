"""Keys and values of events in lines of JSON."""

import base64

import orjson


def shown(part: bytes) -> orjson.Fragment | str:
    """JSON as it is, Avro as base64 and other text as a string: no JSON begins with a zero, nor as
    the text of a struct does."""
    if part[:1] == b"\0":
        return base64.b64encode(part).decode()
    return part.decode(errors="replace") if part[:1] == b"S" else orjson.Fragment(part)

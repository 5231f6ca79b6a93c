"""Keys, values and headers of events in lines of JSON."""

import base64
from collections.abc import Iterable

import orjson


def shown(part: bytes) -> orjson.Fragment | str:
    """JSON as it is, Avro as base64 and other text as a string: no JSON begins with a zero, nor as
    the text of a struct does."""
    if part[:1] == b"\0":
        return base64.b64encode(part).decode()
    return part.decode(errors="replace") if part[:1] == b"S" else orjson.Fragment(part)


def header_texts(headers: Iterable[tuple[str, bytes]]) -> dict[str, str]:
    """`cdc.id`, the only header of raw bytes, in hexadecimal digits."""
    return {
        name: value.hex() if name == "cdc.id" else value.decode(errors="replace")
        for name, value in headers
    }

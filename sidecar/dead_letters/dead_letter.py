"""A dead letter: an event that the sink rejected, and its line in a file."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import orjson

from sidecar.events.ndjson import header_texts

TOO_LARGE_REMEDY = (
    "raise max.message.bytes of the topic and kafka.producer.max.request.size, or exclude the "
    "column or field with field.exclude.list"
)
"""For later events; the dead letter has the whole value of this one."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """An event that the sink will never accept. Key and value are those of the message."""

    topic: str
    key: bytes
    value: bytes
    headers: Sequence[tuple[str, bytes]]
    reason: str


def event_line(event: DeadLetter, agent_version: str) -> bytes:
    """The line of JSON that keeps a dead letter."""
    document = {
        "topic": event.topic,
        "key": _whole(event.key),
        "value": _whole(event.value),
        "headers": header_texts(event.headers),
        "reason": event.reason,
        "noted_at": datetime.now(UTC).isoformat(),
        "agent_version": agent_version,
    }
    return orjson.dumps(document) + b"\n"


def _whole(part: bytes) -> orjson.Fragment | str:
    """JSON of one line as it is, other text as a string, other bytes as base64: a transform may
    return any bytes, and each dead letter is one line from which they can be sent again."""
    try:
        text = part.decode()
    except UnicodeDecodeError:
        return base64.b64encode(part).decode()
    if text.startswith("\0"):
        # Avro and Protobuf.
        return base64.b64encode(part).decode()
    try:
        orjson.loads(part)
    except orjson.JSONDecodeError:
        return text
    return text if "\n" in text or "\r" in text else orjson.Fragment(part)

"""A dead letter: an event that the sink rejected, and its line in a file."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import orjson

from sidecar.events.ndjson import header_texts, shown


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
        "key": shown(event.key),
        "value": shown(event.value),
        "headers": header_texts(event.headers),
        "reason": event.reason,
        "noted_at": datetime.now(UTC).isoformat(),
        "agent_version": agent_version,
    }
    return orjson.dumps(document) + b"\n"

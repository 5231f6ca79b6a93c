"""A dead letter: an event that the sink rejected, its line in a file, and failures to record it."""

import base64
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Generic

import orjson

from sidecar.events import Message, Position, Source
from sidecar.events.message_batch import header_texts
from sidecar.logs import RateLimitedLog

TOO_LARGE_REMEDY = (
    "raise max.message.bytes of the topic and kafka.producer.max.request.size, or exclude the "
    "column or field with field.exclude.list"
)
"""Helps later events only; the dead letter contains the rejected event's whole value."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """An event that the sink will never accept, with the message's key and value."""

    topic: str
    key: bytes
    value: bytes
    headers: Sequence[tuple[str, bytes]]
    reason: str


@dataclass(frozen=True, slots=True)
class RejectedEvent(Generic[Source, Position]):
    """An event that the sink will never accept. It lies between two positions of its source."""

    number: int
    source: Source
    start: Position
    end: Position
    message: Message
    reason: str

    @property
    def letter(self) -> DeadLetter:
        """The event in its stored form."""
        topic, key, value, headers, _ = self.message
        return DeadLetter(topic, key, value or b"null", headers, self.reason)


def event_line(event: DeadLetter, agent_version: str) -> bytes:
    """Serialize a dead letter as a line of JSON."""
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
    """Return one-line JSON unchanged, other text as a string, and other bytes as base64. A
    transform may return any bytes, and each dead letter is one line that must preserve them."""
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


RETRY_S = 1.0
"""Pause after a failed write to the quarantine."""


class RecordingErrors:
    """Logs failures to record at a limited rate, and reports unresolved failures."""

    def __init__(self, logger: logging.Logger) -> None:
        self._log = RateLimitedLog(logger)
        self._messages: dict[str, str] = {}

    @property
    def message(self) -> str:
        """All unresolved errors; empty if there are none."""
        return " ".join(self._messages.values())

    def report(self, operation: str, message: str) -> None:
        self._messages[operation] = message
        self._log.log(operation, message)

    def resolve(self, operation: str) -> None:
        """Record that an operation succeeded, or is no longer needed."""
        if self._messages.pop(operation, None) is not None:
            self._log.resolved(operation, "The agent can write to the quarantine again.")


def not_writable(directory: Path, error: OSError, consequence: str) -> str:
    reason = error.strerror or error
    return f"The quarantine {directory} cannot be written, so {consequence}: {reason}."


def full(directory: Path, consequence: str) -> str:
    return (
        f"The quarantine {directory} is full, so {consequence}. Discard resolved entries, or raise "
        "quarantine.max.bytes."
    )

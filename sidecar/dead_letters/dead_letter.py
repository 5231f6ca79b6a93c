"""A dead letter: an event that the sink rejected, its line in a file, and failures to record it."""

import base64
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import orjson

from sidecar.events.message_batch import header_texts
from sidecar.logs import RateLimitedLog

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


RETRY_S = 1.0
"""Pause after the quarantine could not be written."""


class RecordingErrors:
    """Errors by what failed: logged once, and reported while they last. For one thread."""

    def __init__(self, logger: logging.Logger) -> None:
        self._log = RateLimitedLog(logger)
        self._messages: dict[str, str] = {}

    @property
    def message(self) -> str:
        """All errors that last; empty without one."""
        return " ".join(self._messages.values())

    def report(self, operation: str, message: str) -> None:
        """The operation failed."""
        self._messages[operation] = message
        self._log.log(operation, message)

    def resolve(self, operation: str) -> None:
        """The operation succeeded, or is not needed any more."""
        if self._messages.pop(operation, None) is not None:
            self._log.resolved(operation, "The agent can write to the quarantine again.")


def not_writable(directory: Path, error: OSError, consequence: str) -> str:
    """The message for a quarantine that rejects a write."""
    reason = error.strerror or error
    return f"The quarantine {directory} cannot be written, so {consequence}: {reason}."


def full(directory: Path, consequence: str) -> str:
    """The message for a quarantine without room."""
    return (
        f"The quarantine {directory} is full, so {consequence}. Discard entries that are settled, "
        "or raise quarantine.max.bytes."
    )

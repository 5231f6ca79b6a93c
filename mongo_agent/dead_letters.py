"""Dead letters and gaps with their reasons, as lines of JSON.

    refused.ndjson     messages that the sink rejects, and bytes that cannot become a message
    gaps.ndjson        time ranges with missing changes

The directory is bounded, and the agent deletes nothing in it. When it is full, delivery waits: the
agent stores a record before the position passes it.
"""

import base64
import logging
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import orjson

from mongo_agent.metrics import GAP, REJECTED_BY_SINK, UNREADABLE, MongoMetrics
from sidecar.dead_letters.dead_letter import (
    RETRY_S,
    DeadLetter,
    RecordingErrors,
    event_line,
    full,
    not_writable,
)
from sidecar.errors import SidecarError, SinkError
from sidecar.files.directories import append_lines
from sidecar.files.regular import LineCount
from sidecar.logs import fields

DIRECTORY = "quarantine"
"""In `offset.backing.store.dir`."""
DEAD_LETTERS = "refused.ndjson"
GAPS = "gaps.ndjson"
logger = logging.getLogger(__name__)
_END = (
    "To record such events and continue, set `event.processing.failure.handling.mode=quarantine`."
)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Bytes that cannot become a message. `place` is their token, or their collection."""

    raw: bytes
    place: str
    reason: str


@dataclass(frozen=True, slots=True)
class LostTimeRange:
    """Changes after the position `since` may be missing, up to the time of the record.

    `is_resnapshot`: the agent takes a new snapshot.
    """

    since: Mapping[str, str]
    reason: str
    is_resnapshot: bool = False


@dataclass(frozen=True, slots=True)
class Usage:
    """The size of the quarantine and the number of its records."""

    size_bytes: int = 0
    dead_letters: int = 0
    """Messages that the sink rejects, and bytes that cannot become a message."""
    gaps: int = 0
    """Time ranges with missing changes."""


class Quarantine:
    """The directory, created on first use. Not thread-safe. Its methods raise OSError."""

    def __init__(self, directory: Path, max_bytes: int, agent_version: str) -> None:
        self.directory = directory
        self.max_bytes = max_bytes
        self._agent_version = agent_version
        self._dead_letters = LineCount(directory / DEAD_LETTERS)
        self._gaps = LineCount(directory / GAPS)

    def usage(self) -> Usage:
        """Measure the usage; the directory may be missing."""
        return Usage(self.size_bytes(), self._dead_letters.count(), self._gaps.count())

    def size_bytes(self) -> int:
        """Measure the size of the files; the directory may be missing."""
        return sum(
            path.stat().st_size
            for name in (DEAD_LETTERS, GAPS)
            if (path := self.directory / name).exists()
        )

    def keep(self, record: DeadLetter | Unreadable | LostTimeRange) -> bool:
        """Store a record; return False if the quarantine is full."""
        name = GAPS if isinstance(record, LostTimeRange) else DEAD_LETTERS
        line = self._line(record)
        if self.size_bytes() + len(line) > self.max_bytes:
            return False
        append_lines(self.directory / name, line)
        return True

    def _line(self, record: DeadLetter | Unreadable | LostTimeRange) -> bytes:
        content: dict[str, object]
        match record:
            case DeadLetter():
                return event_line(record, self._agent_version)
            case Unreadable(raw, place, reason):
                content = {"raw_base64": base64.b64encode(raw).decode(), "place": place}
            case LostTimeRange(since, reason):
                content = {"since": dict(since)}
        noted = {"noted_at": datetime.now(UTC).isoformat(), "agent_version": self._agent_version}
        return orjson.dumps({**content, "reason": reason, **noted}) + b"\n"


class DeadLetterWriter:
    """Stores records from one thread. It logs a failure and reports it in `error`. Calls within
    `RETRY_S` after a failure do nothing."""

    def __init__(
        self, quarantine: Quarantine, metrics: MongoMetrics, *, ends_agent: bool = False
    ) -> None:
        """With `ends_agent` the first dead letter stops the agent; gaps are still recorded."""
        self._quarantine = quarantine
        self._metrics = metrics
        self._ends_agent = ends_agent
        self._again_at_s = 0.0
        self._usage = Usage()
        self._errors = RecordingErrors(logger)

    @property
    def error(self) -> str:
        """Why the quarantine accepts no records; empty if it accepts them."""
        return self._errors.message

    @property
    def due_in_s(self) -> float | None:
        """Seconds until the next attempt is due; None without an error."""
        return max(0.0, self._again_at_s - time.monotonic()) if self.error else None

    def usage(self) -> Usage:
        """Measure the usage; return the last known usage if the directory cannot be read."""
        with suppress(OSError):
            self._usage = self._quarantine.usage()
        return self._usage

    def keep(self, event: DeadLetter) -> bool:
        """Store a message that the sink rejects; return False if it must wait. Raises SinkError
        with `ends_agent`."""
        if self._ends_agent:
            raise SinkError(
                f"The sink rejects a message for the topic {event.topic}: {event.reason}. {_END}"
            )
        directory = str(self._quarantine.directory)
        facts = {"topic": event.topic, "reason": event.reason, "directory": directory}
        message = "the sink rejected a message; it is stored whole as a dead letter"
        return self._record(event, REJECTED_BY_SINK, message, facts)

    def keep_unreadable(self, unreadable: Unreadable) -> bool:
        """Store bytes that cannot become a message; return False if they must wait. Raises
        SidecarError with `ends_agent`."""
        if self._ends_agent:
            raise SidecarError(
                f"An event cannot be converted ({unreadable.place}): {unreadable.reason}. {_END}"
            )
        facts = {"place": unreadable.place, "reason": unreadable.reason}
        message = "an event cannot be converted; its bytes are stored as a dead letter"
        return self._record(unreadable, UNREADABLE, message, facts)

    def note_gap(self, gap: LostTimeRange) -> bool:
        """Record missing changes; return False if the record must wait."""
        facts = {"since": dict(gap.since), "reason": gap.reason}
        return self._record(gap, GAP, "changes are lost", facts, logging.ERROR)

    def _record(
        self,
        record: DeadLetter | Unreadable | LostTimeRange,
        kind: str,
        message: str,
        facts: Mapping[str, object],
        level: int = logging.WARNING,
    ) -> bool:
        if self.error and time.monotonic() < self._again_at_s:
            return False
        directory = self._quarantine.directory
        try:
            is_kept = self._quarantine.keep(record)
        except OSError as error:
            return self._fail(not_writable(directory, error, "delivery waits"))
        if not is_kept:
            return self._fail(full(directory, "delivery waits"))
        self._errors.resolve("keep")
        self._metrics.quarantined.labels(kind).inc()
        logger.log(level, message, extra=fields(**facts))
        return True

    def _fail(self, message: str) -> bool:
        self._again_at_s = time.monotonic() + RETRY_S
        self._errors.report("keep", message)
        return False

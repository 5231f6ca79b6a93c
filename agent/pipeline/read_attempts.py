"""Counts how often the process died while it read the same place in a segment.

A read can kill the process: the kernel runs out of memory, or the parser crashes. The next start
would read the same place, and never get past it.

The agent notes the place before each read and removes the note after it, without a sync. The
writes of a killed process survive, and a note from before a machine crash would mislead. So a
stop, a reboot, or a death while the agent waits for the broker does not count.
"""

import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import orjson
from pydantic import TypeAdapter

from agent.cdc_raw.names import SegmentName
from commitlog import CommitLogError
from sidecar.files.regular import open_new, read_regular
from sidecar.logs import fields

logger = logging.getLogger(__name__)

FILE = "segment_reads.json"
MAX_DEATHS = 3
_NOTE_BYTES = 512
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class DeadlyReadError(CommitLogError):
    """The process died too often while it read this place in a segment."""


@dataclass(frozen=True, slots=True)
class ReadNote:
    """The content of the note. Places are texts such as `CommitLog-7-1.log 4096`, or empty."""

    boot_id: str
    """Identifies the current boot of the machine."""
    reading: str = ""
    suspect: str = ""
    """The place at which the process last died."""
    deaths: int = 0
    """Consecutive deaths at `suspect`, without a completed read of this place in between."""

    def after_start(self, boot_id: str) -> "ReadNote":
        """Returns the note of a new process; the noted read killed the previous process."""
        if not self.reading or self.boot_id != boot_id:
            return replace(self, boot_id=boot_id, reading="")
        deaths = self.deaths + 1 if self.reading == self.suspect else 1
        return ReadNote(boot_id, suspect=self.reading, deaths=deaths)

    def before_read(self, place: str) -> "ReadNote":
        return replace(self, reading=place)

    def after_read(self) -> "ReadNote":
        """Returns the note after a read. A read that returns or fails proves its place harmless."""
        return ReadNote(self.boot_id) if self.reading == self.suspect else self.stopped()

    def stopped(self) -> "ReadNote":
        """Returns the note after a requested stop, for which a running read is not to blame."""
        return replace(self, reading="")

    def is_deadly(self, place: str) -> bool:
        return self.deaths >= MAX_DEATHS and place == self.suspect

    def content(self) -> bytes:
        return orjson.dumps(self).ljust(_NOTE_BYTES)


_NOTE = TypeAdapter(ReadNote)


def parse_note(content: bytes) -> ReadNote:
    """Parses a note; returns an empty note for invalid content."""
    with suppress(ValueError):
        return _NOTE.validate_json(content)
    return ReadNote("")


class ReadAttempts:
    """The note in the offset directory. Only for the reader's thread; any thread may close it."""

    def __init__(self, directory: Path) -> None:
        self._file: int | None = None
        self._lock = threading.Lock()
        self._note = ReadNote("")
        path = directory / FILE
        try:
            stored = parse_note(read_regular(path, _NOTE_BYTES)) if path.exists() else self._note
            self._note = stored.after_start(_BOOT_ID.read_text().strip())
            # Create a new file, because the path could be a planted link.
            self._file = open_new(path)
        except OSError as error:
            logger.warning(
                "the agent cannot note which segment it reads, so a segment that kills the "
                "process would do so at each start",
                extra=fields(file=path, reason=error.strerror or str(error)),
            )
        if self._note.deaths:
            logger.warning(
                "the agent died while it read a segment",
                extra=fields(place=self._note.suspect, times_in_a_row=self._note.deaths),
            )
        self._write(self._note)

    @contextmanager
    def reading(self, name: SegmentName, position: int) -> Iterator[None]:
        """Notes a read while it runs. Raises DeadlyReadError."""
        place = f"{name.log} {position}"
        if self._note.is_deadly(place):
            self._write(ReadNote(self._note.boot_id))
            raise DeadlyReadError(
                f"the agent died {MAX_DEATHS} times in a row while it read position {position}. "
                "Search the system log for the cause (`journalctl -k`, `kubectl describe pod`): if "
                "memory was short, raise its limit. Then run `agent quarantine retry --all`"
            )
        self._write(self._note.before_read(place))
        try:
            yield
        finally:
            self._write(self._note.after_read())

    def close(self) -> None:
        self._write(self._note.stopped())
        with self._lock:
            if self._file is not None:
                os.close(self._file)
            self._file = None

    def _write(self, note: ReadNote) -> None:
        self._note = note
        with self._lock, suppress(OSError):
            if self._file is not None:
                os.pwrite(self._file, note.content(), 0)

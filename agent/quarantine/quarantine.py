"""What could not be delivered is kept with its reason (`quarantine_files` names the files).

The reason comes first: a segment that has one is quarantined when it is done, also after a restart
that begins behind the range. The directory is bounded and nothing in it is deleted. When it is full
a segment stays in `cdc_raw`, and so does the segment of an event that has no room.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from agent.cdc_raw import SegmentName, parse_log_name
from agent.cdc_raw.move import move
from agent.quarantine.files import EVENTS, REASON, REMOTE, RETRY, with_suffix
from agent.quarantine.reason import LostRange, Reason, parse_reason, reason_text
from agent.quarantine.requeue import end_request, requeue
from agent.quarantine.usage import Usage
from sidecar.dead_letters.dead_letter import DeadLetter, event_line
from sidecar.files.fsync import append_lines, sync_directory, write_synced
from sidecar.files.regular import make_directory, read_regular

_MAX_REASON_BYTES = 64 << 20


class QuarantineSource(Protocol):
    """A segment, or another source of events; its files in the quarantine begin with `log`."""

    @property
    def log(self) -> str: ...


class Quarantine:
    """The directory, made when it is first needed. For one thread."""

    def __init__(self, directory: Path, max_bytes: int, agent_version: str) -> None:
        self.directory = directory
        self.max_bytes = max_bytes
        self._agent_version = agent_version

    def usage(self) -> Usage:
        """Looks at the directory; it need not be there. Raises OSError."""
        size_bytes = 0
        segments: set[str] = set()
        try:
            with os.scandir(self.directory) as entries:
                for entry in entries:
                    size_bytes += _size_bytes(Path(entry.path))
                    is_of_segment = entry.name.endswith((REASON, EVENTS)) or parse_log_name(
                        entry.name
                    )
                    if is_of_segment and not entry.name.startswith("."):
                        segments.add(entry.name.removesuffix(REASON).removesuffix(EVENTS))
        except FileNotFoundError:
            return Usage()
        return Usage(size_bytes, len(segments))

    def reason(self, name: SegmentName) -> Reason | None:
        """Why this segment is to be kept; None when it is not. Raises OSError."""
        path = self._reason_path(name)
        try:
            text = read_regular(path, _MAX_REASON_BYTES)
        except FileNotFoundError:
            return None
        try:
            return parse_reason(text)
        except (ValueError, TypeError, KeyError):
            # Somebody changed it. That there is one is what counts: the segment is kept.
            unreadable = LostRange(0, None, f"{path.name} could not be understood")
            return Reason(name.log, self._agent_version, "", (unreadable,))

    def note(self, name: SegmentName, ranges: Sequence[LostRange]) -> bool:
        """Puts ranges of a segment on record, durably. False when all of them were. Raises OSError.

        Never refused for want of room: without it the ranges would be forgotten."""
        before = self.reason(name)
        blank = Reason(name.log, self._agent_version, datetime.now(UTC).isoformat())
        after = (before or blank).with_ranges(ranges)
        if after == before:
            return False
        make_directory(self.directory)
        self._write_reason(name, after)
        return True

    def withdraw(self, name: SegmentName, cause: str) -> bool:
        """Removes ranges whose cause begins like this, durably: what they name was delivered after
        all. False when there are none. Raises OSError."""
        before = self.reason(name)
        if before is None or not any(lost.cause.startswith(cause) for lost in before.ranges):
            return False
        left = tuple(lost for lost in before.ranges if not lost.cause.startswith(cause))
        after = replace(before, ranges=left)
        if after.ranges or after.ranges_left_out:
            self._write_reason(name, after)
        else:
            self._reason_path(name).unlink()
            sync_directory(self.directory)
        return True

    def keep(self, source: QuarantineSource, events: Sequence[DeadLetter]) -> bool:
        """Keeps events of a segment or a copy, durably; False without room. Raises OSError."""
        lines = b"".join(event_line(event, self._agent_version) for event in events)
        if self.usage().size_bytes + len(lines) > self.max_bytes:
            return False
        append_lines(self.directory / f"{source.log}{EVENTS}", lines)
        return True

    def take(self, name: SegmentName, log: Path, idx: Path) -> bool:
        """Moves a segment in; False when there is no room. Either file may be missing. Raises
        OSError."""
        inside = self.directory / log.name
        if self.usage().size_bytes - _size_bytes(inside) + _size_bytes(log) > self.max_bytes:
            return False
        make_directory(self.directory)
        # The index first: whoever finds the segment finds all of it.
        for source in (idx, log):
            move(source, self.directory / source.name)
        return True

    def requests(self) -> dict[SegmentName, bool]:
        """Segments that somebody asks to have read again, oldest first, and whether each is here;
        without those that a store has. Raises OSError."""
        names = self._names()
        asked_for = with_suffix(names, RETRY) - with_suffix(names, REMOTE)
        here = with_suffix(names, "")
        return {name: name in here for name in sorted(asked_for)}

    def ask_for_all(self) -> None:
        """Asks for all of them, durably. Raises OSError."""
        names = self._names()
        for name in with_suffix(names, "") | with_suffix(names, REMOTE):
            write_synced(self.directory / f"{name.log}{RETRY}", b"")
        if names:
            sync_directory(self.directory)

    def requeue(self, name: SegmentName, cdc_raw: Path) -> bool:
        """Moves a segment that was asked for into `cdc_raw`, and forgets why it was here; False
        when it is not here. Raises OSError, and can be done again then."""
        return requeue(self.directory, name, cdc_raw)

    def end_request(self, name: SegmentName, cdc_raw: Path) -> None:
        """Forgets a request whose segment is not here. Raises OSError."""
        end_request(self.directory, name, cdc_raw)

    def _write_reason(self, name: SegmentName, reason: Reason) -> None:
        target = self._reason_path(name)
        temporary = target.with_name(f".{target.name}.tmp")
        try:
            write_synced(temporary, reason_text(reason))
            temporary.replace(target)
        except OSError:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise
        sync_directory(self.directory)

    def _names(self) -> list[str]:
        try:
            return [file.name for file in self.directory.iterdir()]
        except FileNotFoundError:
            return []

    def _reason_path(self, name: SegmentName) -> Path:
        return self.directory / f"{name.log}{REASON}"


def _size_bytes(path: Path) -> int:
    try:
        return path.lstat().st_size
    except FileNotFoundError:
        return 0

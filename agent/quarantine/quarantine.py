"""The quarantine directory, as the pipeline uses it.

The agent first writes a reason. It moves a segment with a reason here once the segment is final,
even after a restart. The directory has a size limit, and the agent deletes nothing in it. While it
is full, segments stay in `cdc_raw`, including segments of rejected events.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from agent.cdc_raw.move import move
from agent.cdc_raw.names import SegmentName
from agent.quarantine.files import (
    MAX_REASON_BYTES,
    REMOTE,
    RETRY,
    LostRange,
    QuarantinePaths,
    QuarantineReason,
    file_names,
    parse_reason,
    reason_text,
    segments_with_suffix,
)
from agent.quarantine.requeue import requeue
from sidecar.dead_letters.dead_letter import DeadLetter, event_line
from sidecar.files.directories import append_lines, replace_synced, sync_directory, write_synced
from sidecar.files.regular import make_directory, read_regular


class Quarantine:
    """Creates the directory on first use. Not thread-safe."""

    def __init__(self, directory: Path, max_bytes: int, agent_version: str) -> None:
        self.directory = directory
        self.max_bytes = max_bytes
        self._agent_version = agent_version
        self._known: tuple[int, int] | None = None
        """Time of the latest change of the directory, and the size of all files at that time."""

    def size_bytes(self) -> int:
        """Returns the size of all files; 0 without the directory. Raises OSError."""
        return sum(_size_bytes(self.directory / name) for name in file_names(self.directory))

    def _known_bytes(self) -> int:
        """Returns the size of all files; recounts only if another process added or removed a file.
        So the cost of adding a file does not depend on their number. Raises OSError."""
        changed_ns = _changed_ns(self.directory)
        if self._known is None or self._known[0] != changed_ns:
            self._known = (changed_ns, self.size_bytes())
        return self._known[1]

    def reason(self, name: SegmentName) -> QuarantineReason | None:
        """Returns the reason to quarantine a segment, or None. Raises OSError."""
        path = self._reason_path(name)
        try:
            text = read_regular(path, MAX_REASON_BYTES)
        except FileNotFoundError:
            return None
        try:
            return parse_reason(text)
        except (ValueError, TypeError, KeyError):
            # A different program changed the file. Its existence keeps the segment quarantined.
            unreadable = LostRange(0, None, f"{path.name} does not contain a valid reason")
            return QuarantineReason(name.log, self._agent_version, "", (unreadable,))

    def record_ranges(self, name: SegmentName, ranges: Sequence[LostRange]) -> bool:
        """Durably adds lost ranges to the reason; returns False if it contains all of them. Raises
        OSError. Ignores the size limit, because unrecorded ranges would be lost silently."""
        before = self.reason(name)
        blank = QuarantineReason(name.log, self._agent_version, datetime.now(UTC).isoformat())
        after = (before or blank).with_ranges(ranges)
        if after == before:
            return False
        make_directory(self.directory)
        self._write_reason(name, after)
        return True

    def withdraw_ranges(self, name: SegmentName, cause: str) -> bool:
        """Durably removes ranges whose cause begins with `cause`, because their changes were
        delivered. Returns False if there are none. Raises OSError."""
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

    def add_dead_letter(self, stem: str, event: DeadLetter) -> bool:
        """Durably appends an event to the file that begins with `stem`; returns False at the size
        limit. Raises OSError."""
        line = event_line(event, self._agent_version)
        known_bytes = self._known_bytes() + len(line)
        if known_bytes > self.max_bytes:
            return False
        append_lines(QuarantinePaths(self.directory, stem).events, line)
        self._known = (_changed_ns(self.directory), known_bytes)
        return True

    def add_segment(self, name: SegmentName, log: Path, idx: Path) -> bool:
        """Moves a segment into the quarantine; either file may be missing. Returns False at the
        size limit. Raises OSError."""
        inside = self.directory / log.name
        known_bytes = self._known_bytes() - _size_bytes(inside) + _size_bytes(log)
        if known_bytes > self.max_bytes:
            return False
        make_directory(self.directory)
        # Move the index first, so that a reader that finds the segment also finds its index.
        for source in (idx, log):
            known_bytes += _size_bytes(idx) if source is idx else 0
            move(source, self.directory / source.name)
        self._known = (_changed_ns(self.directory), known_bytes)
        return True

    def retry_requests(self) -> dict[SegmentName, bool]:
        """Returns requested segments, oldest first, and whether their files are here. Omits
        segments in a remote store. Raises OSError."""
        names = file_names(self.directory)
        requested = segments_with_suffix(names, RETRY) - segments_with_suffix(names, REMOTE)
        present = segments_with_suffix(names, "")
        return {name: name in present for name in sorted(requested)}

    def request_all(self) -> None:
        """Durably requests a retry of every segment. Raises OSError."""
        names = file_names(self.directory)
        for name in segments_with_suffix(names, "") | segments_with_suffix(names, REMOTE):
            write_synced(QuarantinePaths(self.directory, name.log).retry, b"")
        if names:
            sync_directory(self.directory)

    def requeue(self, name: SegmentName, cdc_raw: Path) -> bool:
        """Moves a requested segment into `cdc_raw` and deletes its reason. Returns False if the
        segment is not here. Raises OSError; the call can then be repeated."""
        return requeue(self.directory, name, cdc_raw)

    def _write_reason(self, name: SegmentName, reason: QuarantineReason) -> None:
        target = self._reason_path(name)
        text = reason_text(reason)
        known_bytes = self._known_bytes() + len(text) - _size_bytes(target)
        replace_synced(target, text)
        sync_directory(self.directory)
        self._known = (_changed_ns(self.directory), known_bytes)

    def _reason_path(self, name: SegmentName) -> Path:
        return QuarantinePaths(self.directory, name.log).reason


def _size_bytes(path: Path) -> int:
    """The size of a file without its holes."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return 0
    return min(found.st_size, 512 * found.st_blocks)


def _changed_ns(directory: Path) -> int:
    """When a file was last added or removed; 0 without the directory."""
    try:
        return directory.stat().st_mtime_ns
    except FileNotFoundError:
        return 0

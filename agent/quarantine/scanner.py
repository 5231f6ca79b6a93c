"""Counts the content of the quarantine; reads only files that changed since the previous scan."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from agent.cdc_raw.names import SegmentFiles, SegmentName, parse_log_name
from agent.quarantine.files import (
    EVENTS,
    REASON,
    REMOTE,
    RETRY,
    QuarantinePaths,
    segments_with_suffix,
)
from agent.quarantine.quarantine import Quarantine
from sidecar.dead_letters.dead_letter import TOO_LARGE_REMEDY
from sidecar.files.regular import LineCount
from sidecar.health.condition import Condition, State

_SHOWN = 3
_LISTED = 20
_CAUSES = 3


@dataclass(frozen=True, slots=True)
class QuarantinedFiles:
    name: str
    """`CommitLog-7-1699.log`, or `snapshot-KEYSPACE.TABLE`."""
    is_available: bool
    """Whether the agent can read the segment again."""
    ranges: int = 0
    dead_letters: int = 0
    causes: tuple[str, ...] = ()
    """The first few distinct causes of the lost ranges."""
    noted_at: str | None = None
    """Time of the first loss, ISO 8601."""
    is_retry_requested: bool = False


@dataclass(frozen=True, slots=True)
class QuarantineUsage:
    """Totals for the directory, with the few oldest names of each kind."""

    size_bytes: int = 0
    segments: int = 0
    """Segments and snapshots with lost ranges or dead letters, even if their file is gone."""
    available: int = 0
    """Segments with lost ranges that the agent can read again."""
    missing: int = 0
    """Segments with lost ranges whose file no longer exists anywhere."""
    ranges: int = 0
    dead_letters: int = 0
    available_names: tuple[str, ...] = ()
    missing_names: tuple[str, ...] = ()
    dead_letter_names: tuple[str, ...] = ()
    """Segments and snapshots with dead letters."""
    oldest: tuple[QuarantinedFiles, ...] = ()
    """The oldest segments, then snapshots."""

    def conditions(self) -> Iterator[Condition]:
        if self.available:
            yield Condition(
                "segment_quarantined",
                State.DEGRADED,
                "quarantine",
                f"{_segment_count(self.available)} undelivered changes "
                f"({self.ranges} {'range' if self.ranges == 1 else 'ranges'}): "
                f"{_listed(self.available_names, self.available)}.",
                "List causes with `agent quarantine list`. Correct them, then run "
                f"`agent quarantine retry {self.available_names[0]}` or `agent quarantine retry "
                "--all`. To discard the changes, run `agent quarantine discard NAME`.",
            )
        if self.missing:
            yield Condition(
                "segment_lost",
                State.DEGRADED,
                "quarantine",
                f"{_segment_count(self.missing)} undelivered changes and no file to read again: "
                f"{_listed(self.missing_names, self.missing)}.",
                "Copy the tables again with `agent snapshot start KEYSPACE.TABLE`, then run "
                f"`agent quarantine discard {self.missing_names[0]}`.",
            )
        if self.dead_letters:
            events = "1 event was" if self.dead_letters == 1 else f"{self.dead_letters} events were"
            yield Condition(
                "event_rejected",
                State.DEGRADED,
                "quarantine",
                f"{events} rejected by the sink and stored as dead letters: "
                f"{_listed(self.dead_letter_names, len(self.dead_letter_names))}.",
                "See the causes with `agent quarantine list`. If an event is too large, "
                f"{TOO_LARGE_REMEDY}. `.events.ndjson` in the quarantine contains its whole value. "
                "Send the events by other means, then run "
                f"`agent quarantine discard {self.dead_letter_names[0]}`.",
            )


_File = tuple[int, int]
"""Size in bytes, and time of the latest change in nanoseconds."""


class QuarantineScanner:
    """Scans the quarantine. Not thread-safe."""

    def __init__(self, quarantine: Quarantine, cdc_raw: Path) -> None:
        self._quarantine = quarantine
        self._cdc_raw = cdc_raw
        self._directory = quarantine.directory
        self._reasons: dict[str, tuple[_File, _Reason]] = {}
        self._events: dict[str, LineCount] = {}

    def scan(self) -> QuarantineUsage:
        """Returns the current usage; all zero without the directory. Raises OSError."""
        files = self._files()
        self._reasons = {name: each for name, each in self._reasons.items() if name in files}
        with_ranges = sorted(segments_with_suffix(files, REASON) | _without_reason(files))
        available = [name for name in with_ranges if self._is_available(name, files)]
        readable = {name.log for name in available}
        missing = [name for name in with_ranges if name.log not in readable]
        with_events = sorted(
            (name.removesuffix(EVENTS) for name in files if name.endswith(EVENTS)), key=_age
        )
        reasons = {name.log: self._reason(name, files) for name in with_ranges}
        self._events = {name: self._events[name] for name in with_events if name in self._events}
        events = {name: self._lines(name).count() for name in with_events}
        names = sorted({*reasons, *events}, key=_age)
        return QuarantineUsage(
            size_bytes=sum(size_bytes for size_bytes, _ in files.values()),
            segments=len(names),
            available=len(available),
            missing=len(missing),
            ranges=sum(each.ranges for each in reasons.values()),
            dead_letters=sum(events.values()),
            available_names=tuple(name.log for name in available[:_SHOWN]),
            missing_names=tuple(name.log for name in missing[:_SHOWN]),
            dead_letter_names=tuple(with_events[:_SHOWN]),
            oldest=tuple(
                QuarantinedFiles(
                    name,
                    name in readable,
                    reasons.get(name, _NO_REASON).ranges,
                    events.get(name, 0),
                    reasons.get(name, _NO_REASON).causes,
                    reasons.get(name, _NO_REASON).noted_at,
                    f"{name}{RETRY}" in files,
                )
                for name in names[:_LISTED]
            ),
        )

    def _files(self) -> dict[str, _File]:
        """Returns all files by name, including unfinished files."""
        found: dict[str, _File] = {}
        try:
            with os.scandir(self._directory) as entries:
                for entry in entries:
                    try:
                        status = entry.stat()
                    except FileNotFoundError:
                        continue
                    # Holes occupy no disk space.
                    size_bytes = min(status.st_size, 512 * status.st_blocks)
                    found[entry.name] = (size_bytes, status.st_mtime_ns)
        except FileNotFoundError:
            return {}
        return found

    def _is_available(self, name: SegmentName, files: Mapping[str, _File]) -> bool:
        """Whether the file is in the quarantine, in a remote store, or still in `cdc_raw`."""
        if name.log in files or f"{name.log}{REMOTE}" in files:
            return True
        return SegmentFiles(self._cdc_raw, name).log.exists()

    def _reason(self, name: SegmentName, files: Mapping[str, _File]) -> "_Reason":
        file = f"{name.log}{REASON}"
        if file not in files:
            return _Reason(1, (f"{file} is missing",))
        known = self._reasons.get(file)
        if known is None or known[0] != files[file]:
            reason, summary = self._quarantine.reason(name), _NO_REASON
            if reason is not None:
                causes = tuple(dict.fromkeys(lost.cause for lost in reason.ranges))
                summary = _Reason(reason.count, causes[:_CAUSES], reason.noted_at)
            known = self._reasons[file] = (files[file], summary)
        return known[1]

    def _lines(self, name: str) -> LineCount:
        file = QuarantinePaths(self._directory, name).events
        return self._events.setdefault(name, LineCount(file))


@dataclass(frozen=True, slots=True)
class _Reason:
    """The part of a reason that the agent keeps in memory."""

    ranges: int = 0
    causes: tuple[str, ...] = ()
    noted_at: str | None = None


_NO_REASON = _Reason()


def _without_reason(files: Mapping[str, _File]) -> set[SegmentName]:
    """Lists segments without a reason, except for requested segments: a requeue deletes theirs."""
    return {
        name
        for name in segments_with_suffix(files, "")
        if not {f"{name.log}{suffix}" for suffix in (REASON, EVENTS, RETRY)} & files.keys()
    }


def _age(text: str) -> tuple[bool, SegmentName | str]:
    """Sort key: segments by age, then snapshots by name."""
    name = parse_log_name(text)
    return (name is None, name if name is not None else text)


def _segment_count(count: int) -> str:
    return "1 segment has" if count == 1 else f"{count} segments have"


def _listed(names: tuple[str, ...], count: int) -> str:
    return ", ".join(names) + (", …" if count > len(names) else "")

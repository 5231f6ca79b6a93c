"""Observes `cdc_raw` and returns a frozen value.

Files can appear and disappear during an observation, which omits files that disappear. After it
reads an updated index of segment *n*, it rereads the indexes of all older segments. The node syncs
segments in order, so an older segment without an update has no changes older than those in *n*.
"""

import os
import stat
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from agent.cdc_raw.idx import NO_UPDATE, Idx, merge_idx, read_idx
from agent.cdc_raw.names import (
    SegmentFiles,
    SegmentName,
    by_age,
    is_temporary,
    parse_file_name,
    shown_name,
)

COMPLETED_IDX = Idx(completed=True)
"""Stands for an index that was already COMPLETED, and is not read again."""


@dataclass(frozen=True, slots=True)
class ObservedLog:
    size_bytes: int
    link_count: int
    is_in_commit_log: bool | None = None
    """Whether the same file is in the node's commit-log directory; None if unknown."""

    @property
    def is_released(self) -> bool:
        """True if the node's commit log no longer contains the file. An archive may also hold a
        link (`archive_command` in commitlog_archiving.properties)."""
        return self.link_count == 1 or self.is_in_commit_log is False


@dataclass(frozen=True, slots=True)
class ObservedSegment:
    """A segment with at least one existing file."""

    name: SegmentName
    log: ObservedLog | None
    idx: Idx


@dataclass(frozen=True, slots=True)
class Observation:
    """The content of the directory, with the oldest segment first."""

    segments: tuple[ObservedSegment, ...] = ()
    other_files: tuple[str, ...] = ()
    """Names of other files: legacy names, foreign files, symbolic links, pipes."""
    size_bytes: int = 0
    """Total size of the `.log` files, which counts towards `cdc_total_space`."""

    @property
    def irregular_segments(self) -> tuple[str, ...]:
        """Irregular files with the name of a segment or index. The node creates only regular files,
        so another user created them; the agent does not read them."""
        return tuple(filter(parse_file_name, self.other_files))

    def without(self, names: Collection[SegmentName]) -> "Observation":
        if not names:
            return self
        return replace(self, segments=tuple(s for s in self.segments if s.name not in names))

    @property
    def newest_log(self) -> SegmentName | None:
        return max((seen.name for seen in self.segments if seen.log is not None), default=None)

    @property
    def newest_updated(self) -> SegmentName | None:
        return max((seen.name for seen in self.segments if seen.idx.has_update), default=None)


def observe(
    directory: Path,
    is_completed: Callable[[SegmentName], bool] = lambda name: False,
    commit_log: Path | None = None,
) -> Observation:
    """Observes the directory once. Raises OSError if it cannot be listed.

    `commit_log` is the node's commit-log directory. It is trusted if it contains at least one of
    the segments, because the node never releases all segments.

    The indexes of completed segments are final and not read again. So observing thousands of
    segments stays cheap.
    """
    names: set[SegmentName] = set()
    others: list[str] = []
    with os.scandir(directory) as entries:
        for entry in entries:
            name = parse_file_name(entry.name)
            if name is not None and _is_file(entry):
                names.add(name)
            elif not is_temporary(entry.name):
                others.append(shown_name(entry.name))
    observed = [
        seen
        for name in sorted(names, key=by_age)
        if (seen := _observe_segment(directory, name, is_completed)) is not None
    ]
    segments = tuple(_reread_older(directory, observed))
    if commit_log is not None:
        segments = _compare_links(directory, segments, commit_log)
    return Observation(
        segments=segments,
        other_files=tuple(sorted(others)),
        size_bytes=sum(seen.log.size_bytes for seen in segments if seen.log is not None),
    )


def _is_file(entry: os.DirEntry[str]) -> bool:
    """Accepts regular files only: the node creates hard links, never symbolic links or pipes."""
    try:
        return entry.is_file(follow_symlinks=False)
    except OSError:
        return False


def _observe_segment(
    directory: Path,
    name: SegmentName,
    is_completed: Callable[[SegmentName], bool] = lambda name: False,
) -> ObservedSegment | None:
    files = SegmentFiles(directory, name)
    log = _stat(files.log)
    if log is not None and is_completed(name):
        return ObservedSegment(name=name, log=log, idx=COMPLETED_IDX)
    idx = _read_idx(files.idx)
    if log is None and idx is None:
        return None
    return ObservedSegment(name=name, log=log, idx=idx or NO_UPDATE)


def _reread_older(
    directory: Path, observed: Sequence[ObservedSegment]
) -> Iterator[ObservedSegment]:
    """Rereads incomplete indexes that are older than the newest updated index."""
    newest_updated = max((seen.name for seen in observed if seen.idx.has_update), default=None)
    for seen in observed:
        if newest_updated is None or seen.idx.completed or seen.name >= newest_updated:
            yield seen
        elif (again := _observe_segment(directory, seen.name)) is not None:
            yield replace(again, idx=merge_idx(seen.idx, again.idx))


def _compare_links(
    directory: Path, segments: tuple[ObservedSegment, ...], commit_log: Path
) -> tuple[ObservedSegment, ...]:
    """Sets `is_in_commit_log` for segments with further links."""
    found = {
        seen.name: _is_same_file(
            SegmentFiles(directory, seen.name).log, SegmentFiles(commit_log, seen.name).log
        )
        for seen in segments
        if seen.log is not None and seen.log.link_count > 1
    }
    if not any(found.values()):
        return segments
    return tuple(
        replace(seen, log=replace(seen.log, is_in_commit_log=found[seen.name]))
        if seen.log is not None and seen.name in found
        else seen
        for seen in segments
    )


def _is_same_file(path: Path, other: Path) -> bool | None:
    """Compares two files; returns None if either is inaccessible."""
    try:
        here = path.stat()
    except OSError:
        return None
    try:
        there = other.stat()
    except FileNotFoundError:
        return False
    except OSError:
        return None
    return os.path.samestat(here, there)


def _stat(path: Path) -> ObservedLog | None:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    return ObservedLog(size_bytes=found.st_size, link_count=found.st_nlink)


def _read_idx(path: Path) -> Idx | None:
    try:
        return read_idx(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        return Idx(unreadable=error.strerror or str(error))

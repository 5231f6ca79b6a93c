"""Lists, retries and discards quarantined segments. An agent may run at the same time.

    CommitLog-7-1699.log.retry    requests that the agent moves the segment back into `cdc_raw`

A running agent handles this file within seconds, a stopped agent at its next start.
"""

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import orjson

from agent.cdc_raw.names import SegmentFiles, SegmentName, parse_log_name
from agent.quarantine.files import (
    EVENTS,
    REASON,
    REMOTE,
    RETRY,
    QuarantinePaths,
    QuarantineReason,
    file_names,
)
from agent.quarantine.quarantine import Quarantine
from sidecar.errors import ConfigError
from sidecar.files.directories import sync_directory, write_synced
from sidecar.files.regular import open_regular, regular_size_bytes

_SNAPSHOT = "snapshot-"
_TABLE = re.compile(r"\w{1,222}\.\w{1,222}", re.ASCII)


@dataclass(frozen=True, slots=True, order=True)
class SnapshotName:
    """The snapshot of a table, which may have dead letters."""

    table: str
    """`keyspace.table`."""

    @property
    def log(self) -> str:
        """Prefix of its file names (`agent.snapshot.plan.SnapshotPartition`)."""
        return f"{_SNAPSHOT}{self.table}"

    def __str__(self) -> str:
        return self.log


QuarantineKey = SegmentName | SnapshotName
"""The segment or snapshot to which files in the quarantine belong."""


@dataclass(frozen=True, slots=True)
class DeadLetterSummary:
    count: int = 0
    reasons: tuple[str, ...] = ()
    """Distinct, in order of appearance."""
    noted_at: str | None = None
    """Time of the first dead letter."""


@dataclass(frozen=True, slots=True)
class QuarantineEntry:
    """A segment or snapshot with undelivered changes."""

    name: QuarantineKey
    size_bytes: int | None
    """Size of the segment; None if only its dead letters or its reason are stored locally."""
    reason: QuarantineReason | None
    dead_letters: DeadLetterSummary
    is_retry_requested: bool
    remote: str = ""
    """Remote directory that contains the segment; empty if the segment is stored locally."""

    @property
    def causes(self) -> list[str]:
        """Distinct causes, in order of appearance."""
        if self.reason is None and not self.dead_letters.count and not self.is_retry_requested:
            return [f"{self.name.log}{REASON} is missing"]
        ranges = self.reason.ranges if self.reason is not None else ()
        return list(dict.fromkeys((*(lost.cause for lost in ranges), *self.dead_letters.reasons)))

    @property
    def noted_at(self) -> str | None:
        """Time of the first loss."""
        return self.reason.noted_at if self.reason is not None else self.dead_letters.noted_at

    @property
    def can_requeue(self) -> bool:
        return self.size_bytes is not None or bool(self.remote)


def parse_quarantine_key(text: str) -> QuarantineKey | None:
    """Parses `CommitLog-7-1699.log` or `snapshot-shop.orders`; None for any other name."""
    if text.startswith(_SNAPSHOT):
        table = text.removeprefix(_SNAPSHOT)
        # The name becomes part of a path, so it must not contain a separator.
        return SnapshotName(table) if _TABLE.fullmatch(table) else None
    return parse_log_name(text)


def list_entries(directory: Path) -> list[QuarantineEntry]:
    """Lists all entries: segments, oldest first, then snapshots. Raises OSError."""
    texts = {
        name.removesuffix(REASON).removesuffix(EVENTS).removesuffix(REMOTE).removesuffix(RETRY)
        for name in file_names(directory)
    }
    found = [name for text in texts if (name := parse_quarantine_key(text)) is not None]
    quarantine = Quarantine(directory, 0, "")
    in_order = sorted(found, key=lambda name: (isinstance(name, SnapshotName), name))
    return [_entry(quarantine, name) for name in in_order]


def request_retry(directory: Path, names: Iterable[QuarantineKey]) -> None:
    """Requests retries, durably. Raises OSError, and ConfigError if a name is not a quarantined
    segment."""
    names = list(names)
    for name in names:
        if isinstance(name, SnapshotName):
            raise ConfigError(
                f"{name}: a snapshot is not read from a segment. Run `agent snapshot start "
                f"{name.table}` to copy the table again."
            )
        files = QuarantinePaths(directory, name.log)
        if files.log.exists() or files.remote.exists():
            continue
        if files.events.exists():
            raise ConfigError(
                f"{name}: the agent delivered everything except the events in {files.events}. See "
                "the reason in each line there."
            )
        raise _absent(name, directory)
    for name in names:
        write_synced(QuarantinePaths(directory, name.log).retry, b"")
    if names:
        sync_directory(directory)


def discard(
    directory: Path,
    cdc_raw: Path,
    name: QuarantineKey,
    remove_remote: Callable[[str, SegmentName], None],
) -> None:
    """Deletes all files of a segment or a snapshot. `remove_remote` deletes a segment from a remote
    directory. Raises OSError, the errors of `remove_remote`, and ConfigError if `cdc_raw` still
    contains the segment or no file exists."""
    if (cdc_raw / name.log).exists():
        raise ConfigError(
            f"{name}: still in {cdc_raw}, where its quarantine reason protects it. Retry after "
            "the agent has quarantined it."
        )
    found = QuarantinePaths(directory, name.log)
    files = [found.log, found.events, found.retry, found.remote]
    if isinstance(name, SegmentName):
        if remote := found.remote_directory:
            remove_remote(remote, name)
        files.append(SegmentFiles(directory, name).idx)
    # Delete the reason last: until then, the list shows the remaining files.
    files.append(found.reason)
    if not any(file.exists() for file in files):
        raise _absent(name, directory)
    if isinstance(name, SegmentName):
        # The agent reports an index without its segment as a loss at each start.
        SegmentFiles(cdc_raw, name).idx.unlink(missing_ok=True)
    for file in files:
        file.unlink(missing_ok=True)
    sync_directory(directory)


def _absent(name: QuarantineKey, directory: Path) -> ConfigError:
    return ConfigError(
        f"{name}: not in {directory}. `agent quarantine list` shows the segments there."
    )


def _entry(quarantine: Quarantine, name: QuarantineKey) -> QuarantineEntry:
    files = QuarantinePaths(quarantine.directory, name.log)
    size_bytes = regular_size_bytes(files.log)
    return QuarantineEntry(
        name,
        size_bytes,
        quarantine.reason(name) if isinstance(name, SegmentName) else None,
        _dead_letters(files.events) if files.events.exists() else DeadLetterSummary(),
        files.retry.exists(),
        "" if size_bytes is not None else files.remote_directory,
    )


def _dead_letters(file: Path) -> DeadLetterSummary:
    count, reasons, noted_at = 0, dict[str, None](), None
    with os.fdopen(open_regular(file, os.O_RDONLY), "rb") as lines:
        for line in lines:
            try:
                document = orjson.loads(line)
                reasons[str(document["reason"])] = None
                noted_at = noted_at or str(document["noted_at"])
            except (ValueError, TypeError, KeyError):
                # A crash truncated the line; the agent appended the event again.
                continue
            count += 1
    return DeadLetterSummary(count, tuple(reasons), noted_at)

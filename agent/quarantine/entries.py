"""Looking into the quarantine, and settling what is in it, from beside the agent.

    CommitLog-7-1699.log.retry    asks the agent to put the segment back into `cdc_raw`

The request is a file, so an agent that runs sees it within seconds, and one that does not at its
next start.
"""

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import orjson

from agent.cdc_raw import SegmentName, parse_log_name
from agent.quarantine import Quarantine, Reason
from agent.quarantine.files import EVENTS, MAX_MARK_BYTES, REASON, REMOTE, RETRY
from sidecar.errors import ConfigError
from sidecar.files.fsync import sync_directory, write_synced
from sidecar.files.regular import open_regular, read_regular, regular_size_bytes

_COPY = "snapshot-"
_TABLE = re.compile(r"\w{1,222}\.\w{1,222}", re.ASCII)


@dataclass(frozen=True, slots=True, order=True)
class SnapshotName:
    """The copy of a table, of which refused events may be kept."""

    table: str
    """`keyspace.table`."""

    @property
    def log(self) -> str:
        """What its files begin with (`agent.snapshot.snapshot.SnapshotPartition`)."""
        return f"{_COPY}{self.table}"

    def __str__(self) -> str:
        return self.log


QuarantineKey = SegmentName | SnapshotName
"""Whose files are in the quarantine."""


@dataclass(frozen=True, slots=True)
class DeadLetterSummary:
    """Events that the sink refused, of one segment or copy."""

    count: int = 0
    reasons: tuple[str, ...] = ()
    """Each once."""
    noted_at: str | None = None
    """When the first one was."""


@dataclass(frozen=True, slots=True)
class QuarantineEntry:
    """A segment, or a copy, with something that was not delivered."""

    name: QuarantineKey
    size_bytes: int | None
    """Of the segment; None where only its events or its reason are here."""
    reason: Reason | None
    refused: DeadLetterSummary
    is_asked_for: bool
    """The agent is to read it again."""
    remote: str = ""
    """The directory of a store that has it; empty while it is here."""

    @property
    def causes(self) -> list[str]:
        """Each once, in their order."""
        if self.reason is None and not self.refused.count and not self.is_asked_for:
            return [f"{self.name.log}{REASON} is missing"]
        ranges = self.reason.ranges if self.reason is not None else ()
        return list(dict.fromkeys((*(lost.cause for lost in ranges), *self.refused.reasons)))

    @property
    def noted_at(self) -> str | None:
        """When the first of it was put here."""
        return self.reason.noted_at if self.reason is not None else self.refused.noted_at

    @property
    def can_requeue(self) -> bool:
        return self.size_bytes is not None or bool(self.remote)


def parse_quarantine_key(text: str) -> QuarantineKey | None:
    """`CommitLog-7-1699.log` or `snapshot-shop.orders`; None for every other name."""
    if text.startswith(_COPY):
        table = text.removeprefix(_COPY)
        # Names are file names: nothing else may come of what a person or a file says.
        return SnapshotName(table) if _TABLE.fullmatch(table) else None
    return parse_log_name(text)


def list_entries(directory: Path) -> list[QuarantineEntry]:
    """Everything in it, the oldest segment first and copies last; nothing when it is not there.
    Raises OSError."""
    if not directory.exists():
        return []
    texts = {
        file.name.removesuffix(REASON).removesuffix(EVENTS).removesuffix(REMOTE).removesuffix(RETRY)
        for file in directory.iterdir()
    }
    found = [name for text in texts if (name := parse_quarantine_key(text)) is not None]
    segments = sorted(name for name in found if isinstance(name, SegmentName))
    copies = sorted(name for name in found if isinstance(name, SnapshotName))
    names: list[QuarantineKey] = [*segments, *copies]
    quarantine = Quarantine(directory, 0, "")
    return [_seen(quarantine, name) for name in names]


def request_retry(directory: Path, names: Iterable[QuarantineKey]) -> None:
    """Durably. Raises ConfigError for what is not there as a segment, and OSError."""
    names = list(names)
    for name in names:
        if isinstance(name, SnapshotName):
            raise ConfigError(
                f"{name} is no segment that could be read again; "
                f"`agent snapshot start --table {name.table}` copies the table anew."
            )
        events = directory / f"{name.log}{EVENTS}"
        if any((directory / f"{name.log}{suffix}").exists() for suffix in ("", REMOTE)):
            continue
        if events.exists():
            raise ConfigError(
                f"Of {name} everything was delivered but the events in {events}, a line each with "
                "its reason; there is nothing to read again."
            )
        raise ConfigError(
            f"{directory} does not hold {name}, so there is nothing to read again; "
            "`agent segments list` shows what it holds."
        )
    for name in names:
        write_synced(directory / f"{name.log}{RETRY}", b"")
    if names:
        sync_directory(directory)


def discard(
    directory: Path,
    cdc_raw: Path,
    name: QuarantineKey,
    remove_remote: Callable[[str, SegmentName], None],
) -> None:
    """Deletes all that is kept of a segment or a copy; `remove_remote` does it in the store that
    has a segment, by the store's directory. Raises ConfigError when the agent is not done with it
    or nothing of it is there, OSError, and what `remove_remote` raises."""
    if (cdc_raw / name.log).exists():
        raise ConfigError(
            f"{name} is in {cdc_raw}, so the agent is not done with it: its reason is what keeps "
            "it from being removed."
        )
    files = [directory / f"{name.log}{suffix}" for suffix in ("", EVENTS, RETRY, REMOTE)]
    if isinstance(name, SegmentName):
        if remote := _remote(directory, name):
            remove_remote(remote, name)
        files.append(directory / name.idx)
    # The reason goes last: as long as there is one, what is left shows in the list.
    files.append(directory / f"{name.log}{REASON}")
    if not any(file.exists() for file in files):
        raise ConfigError(f"{directory} holds nothing of {name}.")
    if isinstance(name, SegmentName):
        # An index that stayed without its segment would be reported as a loss at each start.
        (cdc_raw / name.idx).unlink(missing_ok=True)
    for file in files:
        file.unlink(missing_ok=True)
    sync_directory(directory)


def _remote(directory: Path, name: QuarantineKey) -> str:
    try:
        return read_regular(directory / f"{name.log}{REMOTE}", MAX_MARK_BYTES).decode().strip()
    except FileNotFoundError:
        return ""


def _seen(quarantine: Quarantine, name: QuarantineKey) -> QuarantineEntry:
    log = quarantine.directory / name.log
    events = quarantine.directory / f"{name.log}{EVENTS}"
    size_bytes = regular_size_bytes(log)
    return QuarantineEntry(
        name,
        size_bytes,
        quarantine.reason(name) if isinstance(name, SegmentName) else None,
        _refused(events) if events.exists() else DeadLetterSummary(),
        (quarantine.directory / f"{name.log}{RETRY}").exists(),
        "" if size_bytes is not None else _remote(quarantine.directory, name),
    )


def _refused(file: Path) -> DeadLetterSummary:
    count, reasons, noted_at = 0, dict[str, None](), None
    with os.fdopen(open_regular(file, os.O_RDONLY), "rb") as lines:
        for line in lines:
            try:
                document = orjson.loads(line)
                reasons[str(document["reason"])] = None
                noted_at = noted_at or str(document["noted_at"])
            except (ValueError, TypeError, KeyError):
                # A crash has torn it, and the event was kept again behind it.
                continue
            count += 1
    return DeadLetterSummary(count, tuple(reasons), noted_at)

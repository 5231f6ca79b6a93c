"""Looking into the quarantine, and settling what is in it, from beside the agent.

    CommitLog-7-1699.log.retry    asks the agent to put the segment back into `cdc_raw`

The request is a file, so an agent that runs sees it within seconds, and one that does not at its
next start.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from agent.cdc_raw import SegmentName, parse_log_name
from agent.quarantine import EVENTS, REASON, RETRY, Quarantine, Reason
from sidecar.durable import sync_directory, write_synced
from sidecar.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A segment with something that was not delivered."""

    name: SegmentName
    size_bytes: int | None
    """Of the segment; None where only its events or its reason are here."""
    reason: Reason | None
    events: int
    """That the sink refused."""
    is_asked_for: bool
    """The agent is to read it again."""

    @property
    def causes(self) -> list[str]:
        """Each once, in their order."""
        return list(dict.fromkeys(lost.cause for lost in self.reason.ranges)) if self.reason else []


def quarantined(directory: Path) -> list[Quarantined]:
    """Everything in it, oldest first; nothing when it is not there. Raises OSError."""
    names: set[SegmentName] = set()
    if not directory.exists():
        return []
    for file in directory.iterdir():
        text = file.name.removesuffix(REASON).removesuffix(EVENTS).removesuffix(RETRY)
        name = parse_log_name(text)
        if name is not None:
            names.add(name)
    quarantine = Quarantine(directory, 0, "")
    return [_seen(quarantine, name) for name in sorted(names)]


def ask_for_retry(directory: Path, names: Iterable[SegmentName]) -> None:
    """Durably. Raises ConfigError for a segment that is not there, and OSError."""
    names = list(names)
    for name in names:
        if not (directory / name.log).exists():
            raise ConfigError(
                f"{directory} does not hold {name}, so there is nothing to read again; "
                "`agent segments list` shows what it holds."
            )
    for name in names:
        write_synced(directory / f"{name.log}{RETRY}", b"")
    if names:
        sync_directory(directory)


def discard(directory: Path, cdc_raw: Path, name: SegmentName) -> None:
    """Deletes all that is kept of a segment. Raises ConfigError when the agent is not done with it
    or nothing of it is there, and OSError."""
    if (cdc_raw / name.log).exists():
        raise ConfigError(
            f"{name} is in {cdc_raw}, so the agent is not done with it: its reason is what keeps "
            "it from being removed."
        )
    files = [directory / f"{name.log}{suffix}" for suffix in ("", EVENTS, RETRY)]
    # The reason goes last: as long as there is one, what is left shows in the list.
    files += [directory / name.idx, directory / f"{name.log}{REASON}"]
    if not any(file.exists() for file in files):
        raise ConfigError(f"{directory} holds nothing of {name}.")
    for file in files:
        file.unlink(missing_ok=True)
    sync_directory(directory)


def _seen(quarantine: Quarantine, name: SegmentName) -> Quarantined:
    log = quarantine.directory / name.log
    events = quarantine.directory / f"{name.log}{EVENTS}"
    return Quarantined(
        name,
        log.stat().st_size if log.exists() else None,
        quarantine.reason(name),
        events.read_bytes().count(b"\n") if events.exists() else 0,
        (quarantine.directory / f"{name.log}{RETRY}").exists(),
    )

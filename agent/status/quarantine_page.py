"""The quarantine on the status page: names, causes and command lines."""

from agent.quarantine.scanner import QuarantinedFiles, QuarantineUsage
from sidecar.page.agent_summary import Quarantined
from sidecar.page.summary import NextCommand, QuarantinedItem

_SNAPSHOT = "snapshot-"


class QuarantineCommands:
    """Command lines of one agent; `options` select its configuration."""

    def __init__(self, options: str = "") -> None:
        self._options = options

    def content(self, usage: QuarantineUsage) -> Quarantined:
        """The quarantine for the page."""
        if not usage.segments:
            return Quarantined("The quarantine is empty.", usage.size_bytes)
        commands = [self._command("List all causes", "quarantine list")]
        if usage.available:
            commands.append(self._command("Read all segments again", "quarantine retry --all"))
        content = _content(usage.ranges, usage.dead_letters)
        return Quarantined(
            f"{_counted(usage.segments, 'item')}: {' and '.join(content)}.",
            usage.size_bytes,
            tuple(map(self._item, usage.oldest)),
            usage.segments - len(usage.oldest),
            tuple(commands),
        )

    def _item(self, files: QuarantinedFiles) -> QuarantinedItem:
        content = _content(files.ranges, files.dead_letters)
        if files.ranges and not files.is_available:
            content.append("the segment file is missing")
        if files.is_retry_requested:
            content.append("a retry is requested")
        causes = files.causes
        if files.dead_letters:
            causes += (f"{files.name}.events.ndjson has the reason for each dead letter",)
        return QuarantinedItem(
            files.name, causes, ", ".join(content), files.noted_at, tuple(self._next(files))
        )

    def _next(self, files: QuarantinedFiles) -> list[NextCommand]:
        commands = []
        table = files.name.removeprefix(_SNAPSHOT)
        if table != files.name:
            commands.append(self._command("Copy the table again", f"snapshot start {table}"))
        elif files.is_available:
            commands.append(self._command("Read it again", f"quarantine retry {files.name}"))
        commands.append(self._command("Delete it", f"quarantine discard {files.name}"))
        return commands

    def _command(self, purpose: str, command: str) -> NextCommand:
        return NextCommand(purpose, f"agent {command}{self._options}")


def _content(ranges: int, dead_letters: int) -> list[str]:
    found = ((ranges, "undelivered range"), (dead_letters, "dead letter"))
    return [_counted(count, noun) for count, noun in found if count]


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"

"""The Cassandra agent's part of the status page, including the quarantine with its commands."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agent.pipeline.view import View
from agent.quarantine.scanner import QuarantinedFiles, QuarantineUsage
from agent.segments.state import Phase, Segment
from agent.snapshot.offsets import State
from agent.status.view import AgentStatus
from sidecar.page.summary import (
    MOST_BARS,
    NextCommand,
    ProgressBar,
    Quarantined,
    QuarantinedItem,
    SnapshotLine,
    Stat,
    config_option,
)
from sidecar.quantities import duration_text

_SNAPSHOT = "snapshot-"


@dataclass(frozen=True, slots=True)
class QuarantineCommands:
    """Command lines of one agent; `options` select its configuration."""

    options: str = ""

    def content(self, usage: QuarantineUsage) -> Quarantined:
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
            causes += (f"{files.name}.events.ndjson contains the reason for each dead letter",)
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
        return NextCommand(purpose, f"agent {command}{self.options}")


def _content(ranges: int, dead_letters: int) -> list[str]:
    found = ((ranges, "undelivered range"), (dead_letters, "dead letter"))
    return [_counted(count, noun) for count, noun in found if count]


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


OpStyle = Literal["native", "envelope"]

_KIND_NAMES: Mapping[OpStyle, Mapping[str, str]] = {
    "native": {"i": "inserts", "u": "updates", "d": "deletes", "r": "range deletes"},
    "envelope": {"c": "inserts", "u": "updates", "d": "deletes", "t": "range deletes"},
}
"""Words for the letters in `op`, by event.op.style."""


class SegmentSummaryParts:
    """Implements `sidecar.page.summary.SummaryParts`."""

    progress_title = "Segments in cdc_raw, the oldest first"
    counts_title = "Events by table, since the start"
    count_labels = ("table", "op")
    unnamed = ""

    def __init__(
        self,
        status: AgentStatus,
        op_style: OpStyle = "native",
        files: Sequence[Path] = (),
        topic_of: Callable[[str], str] = str,
    ) -> None:
        """`files` are the agent's properties files, for the command lines on the page."""
        self._status = status
        self._commands = QuarantineCommands("".join(config_option(file) for file in files))
        self.topic_of = topic_of
        self.kind_names = _KIND_NAMES[op_style]

    def stats(self, view: View) -> Iterator[Stat]:
        yield Stat("Not delivered", view.lag_bytes, "bytes", note="synced, not acknowledged")
        forecast = _full_note(self._status.raw_full_in_s(view))
        note = "; ".join(filter(None, (forecast, "all files, also delivered ones")))
        yield Stat("cdc_raw", view.raw_bytes, "bytes", self._status.raw_limit_bytes, note)

    def progress(self, view: View) -> Iterator[ProgressBar]:
        yield from map(_bar, view.all_segments()[-MOST_BARS:])

    def snapshots(self, view: View) -> Iterator[SnapshotLine]:
        snapshot = self._status.snapshot
        known = () if snapshot is None else snapshot.offsets.tables.values()
        running = [each for each in known if each.state is State.COPYING]
        for each in running[:MOST_BARS]:
            state = each.state.value if each.rows else "waiting"
            yield SnapshotLine(each.table, state, each.rows, each.ratio)

    def quarantine(self, view: View) -> Quarantined:
        return self._commands.content(view.quarantine)

    def notes(self, view: View) -> Iterator[str]:
        count = sum(view.count_by_phase.values())
        if count > MOST_BARS:
            yield f"{count - MOST_BARS} older segments are not shown."
        if view.other_files:
            shown = ", ".join(view.other_files[:5])
            yield f"cdc_raw contains files that are not segments: {shown}."
        if unknown := self._status.unlogged().unknown:
            yield f"Writes that bypass the commit log are unknown: {unknown}"


def _full_note(time_to_full_s: float) -> str:
    if math.isnan(time_to_full_s):
        return ""
    if math.isinf(time_to_full_s):
        return "does not grow"
    return (
        "full" if not time_to_full_s else f"full in {duration_text(time_to_full_s)} at this growth"
    )


def _state(segment: Segment) -> str:
    """Returns the word for the page, which unlike `Phase` depends on acknowledgements."""
    phase, read_position = segment.phase, segment.read_position
    if phase in (Phase.VANISHED, Phase.DRAINED, Phase.BLOCKED):
        return phase.value
    if phase in (Phase.READING, Phase.FINAL) and not segment.has_nothing_to_read:
        return "partly_read" if read_position else "unread"
    if segment.acknowledged_position < read_position:
        return "unacknowledged"
    return Phase.IDLE.value if read_position else "empty"


def _bar(segment: Segment) -> ProgressBar:
    state = _state(segment)
    if state == "empty":
        return ProgressBar(segment.name.log, state, 0, 0, 0, 0, "preallocated")
    there = segment.acknowledged_position + segment.readable_bytes
    size = max(segment.log.size_bytes if segment.log else 0, there, segment.read_position)
    done = size if segment.is_drained else segment.acknowledged_position
    return ProgressBar(
        segment.name.log,
        state,
        size=size,
        done=done,
        read=max(done, segment.read_position),
        there=max(done, segment.read_position, there),
        note="the node has finished it" if segment.idx.completed else "",
        unit="bytes",
    )

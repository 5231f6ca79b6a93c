"""The MongoDB agent's part of the status page."""

import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from mongo_agent.dead_letters import DEAD_LETTERS, GAPS, Usage
from mongo_agent.pipeline.view import StreamView, View
from mongo_agent.snapshot.view import CollectionView
from mongo_agent.topic_naming import Naming
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


class MongoSummaryParts:
    """Implements `sidecar.page.summary.SummaryParts`."""

    progress_title = "Streams"
    counts_title = "Messages by collection, since the start"
    count_labels = ("collection", "kind")
    kind_names: Mapping[str, str] = MappingProxyType(
        {
            "insert": "inserts",
            "update": "updates",
            "replace": "replacements",
            "delete": "deletes",
            "read": "snapshot reads",
            "tombstone": "tombstones",
            "transaction": "transactions",
            "schema": "schema changes",
        }
    )
    unnamed = "(no collection)"

    def __init__(
        self,
        directory: str = "quarantine",
        files: Sequence[Path] = (),
        naming: Naming = "{}.{}".format,
        *,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        """`directory` is the quarantine, `files` are the agent's properties files, for command
        lines on the page. `wall_clock` returns seconds since 1970."""
        self._directory = directory
        self._options = "".join(map(config_option, files))
        self._naming = naming
        self._wall_clock = wall_clock

    def stats(self, view: View) -> Iterator[Stat]:
        delivery = view.delivery
        limit_bytes = delivery.window_limit_bytes or None
        yield Stat("Size of unacknowledged events", delivery.window_bytes, "bytes", limit_bytes)
        yield Stat("Collections to snapshot", view.remaining_collections, "count")

    def progress(self, view: View) -> Iterator[ProgressBar]:
        now_s = self._wall_clock()
        for stream in view.streams:
            yield _stream_bar(stream, now_s)

    def snapshots(self, view: View) -> Iterator[SnapshotLine]:
        for stream in view.streams:
            yield from map(_snapshot_line, stream.snapshot.collections[-MOST_BARS:])

    def topic_of(self, name: str) -> str:
        database, _, collection = name.partition(".")
        return self._naming(database, collection)

    def quarantine(self, view: View) -> Quarantined:
        usage = view.quarantine
        items = tuple(self._quarantined_items(usage))
        if not items:
            return Quarantined("The quarantine is empty.", usage.size_bytes)
        message = " and ".join(item.content for item in items)
        return Quarantined(f"{message}.", usage.size_bytes, items)

    def _quarantined_items(self, usage: Usage) -> Iterator[QuarantinedItem]:
        copy = f"mongo-agent snapshot start '.*'{self._options}"
        read = f"less {self._path(DEAD_LETTERS)}"
        letters = usage.dead_letters
        for name, count, what, title, command in (
            (GAPS, usage.gaps, "lost time range", "Copy all collections again", copy),
            (DEAD_LETTERS, letters, "dead letter", "Read the reasons", read),
        ):
            if count:
                counted = f"1 {what}" if count == 1 else f"{count:,} {what}s"
                target = self._path(f"{name.removesuffix('.ndjson')}-handled.ndjson")
                done = NextCommand("Mark it as handled", f"mv -n {self._path(name)} {target}")
                commands = (NextCommand(title, command), done)
                reasons = ("Each line contains the reason.",)
                yield QuarantinedItem(name, reasons, counted, commands=commands)

    def _path(self, name: str) -> str:
        return shlex.quote(f"{self._directory}/{name}")

    def notes(self, view: View) -> Iterator[str]:
        for stream in view.streams:
            if stream.snapshot.is_paused:
                yield "Snapshots are paused."
            if (hidden := len(stream.snapshot.collections) - MOST_BARS) > 0:
                yield f"The page leaves out {hidden} older snapshots."


def _stream_bar(stream: StreamView, now_s: float) -> ProgressBar:
    age_s = max(0.0, now_s - stream.read_time.second)
    name = f"stream {stream.name}" if stream.name else "stream"
    state = "reading" if stream.state.is_open else "closed"
    idle = "an idle server advances it every 10 s"
    reason = idle if stream.state.is_open else stream.state.message
    note = f"position {duration_text(age_s)} old; {reason}"
    return ProgressBar(name, state, 0, 0, 0, 0, note)


def _snapshot_line(snapshot: CollectionView) -> SnapshotLine:
    share = 1.0 if snapshot.state == "copied" else None
    if snapshot.percent is not None:
        share = snapshot.percent / 100
    note = "; ".join(filter(None, (snapshot.reason, snapshot.note)))
    name, state, documents = snapshot.collection, snapshot.state, snapshot.documents
    return SnapshotLine(name, state, documents, share, snapshot.estimated, "documents", note)

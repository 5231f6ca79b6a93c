"""The quarantine on the status page: files, their content and command lines."""

import shlex
from collections.abc import Iterator

from mongo_agent.dead_letters.quarantine import DEAD_LETTERS, GAPS, Usage
from sidecar.page.agent_summary import Quarantined
from sidecar.page.summary import NextCommand, QuarantinedItem


class QuarantineFiles:
    """The files in `directory`; `options` select the configuration on command lines."""

    def __init__(self, directory: str, options: str = "") -> None:
        self._directory = directory
        self._options = options

    def content(self, usage: Usage) -> Quarantined:
        """The quarantine for the page."""
        items = tuple(self._items(usage))
        if not items:
            return Quarantined("The quarantine is empty.", usage.size_bytes)
        message = " and ".join(item.content for item in items)
        return Quarantined(f"{message}.", usage.size_bytes, items)

    def _items(self, usage: Usage) -> Iterator[QuarantinedItem]:
        if usage.gaps:
            yield QuarantinedItem(
                GAPS,
                ("Each line has the reason.",),
                _counted(usage.gaps, "lost range of time", "lost ranges of time"),
                commands=(
                    NextCommand(
                        "Copy all collections again",
                        f"mongo-agent snapshot start '.*'{self._options}",
                    ),
                    self._done(GAPS),
                ),
            )
        if usage.dead_letters:
            yield QuarantinedItem(
                DEAD_LETTERS,
                ("Each line has the reason.",),
                _counted(usage.dead_letters, "dead letter", "dead letters"),
                commands=(
                    NextCommand("Read the reasons", f"less {self._path(DEAD_LETTERS)}"),
                    self._done(DEAD_LETTERS),
                ),
            )

    def _done(self, name: str) -> NextCommand:
        stem = name.removesuffix(".ndjson")
        target = self._path(f"{stem}-handled.ndjson")
        return NextCommand("Mark it as handled", f"mv -n {self._path(name)} {target}")

    def _path(self, name: str) -> str:
        return shlex.quote(f"{self._directory}/{name}")


def _counted(count: int, one: str, many: str) -> str:
    return f"1 {one}" if count == 1 else f"{count:,} {many}"

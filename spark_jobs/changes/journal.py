"""The batches of a table that are published or begun, in a small file of the checkpoint.

A batch is recorded before its first message is sent, with the end offsets of its topic. After a
crash the same batch is read again, and messages after these offsets are not sent twice.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from spark_jobs.follow.plan import Position
from spark_jobs.reconcile.store import Offsets
from spark_jobs.reconcile.store.commits import offsets_from_json
from spark_jobs.storage import Folder

FILE = "batches.json"


@dataclass(frozen=True, slots=True)
class BegunBatch:
    """A batch whose messages may be sent in part."""

    number: int
    """Counts the batches of a table from 1."""
    before: Position | None
    """None: the first batch, with the rows that exist."""
    after: Position
    end_offsets: Mapping[int, int]
    """Offsets of the topic before the first message, by partition."""
    offsets: Offsets = field(default_factory=dict)
    """Offsets of the agents' topics that the store has read up to `after`."""


@dataclass(frozen=True, slots=True)
class _Entry:
    number: int = 0
    position: Position | None = None
    begun: BegunBatch | None = None


class BatchJournal:
    """The journal of one table. For one process."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._last = _entry(folder.read_text(FILE)) if folder.exists(FILE) else _Entry()

    @property
    def position(self) -> Position | None:
        """The position up to which every change is published; None before the first batch."""
        return self._last.position

    @property
    def begun(self) -> BegunBatch | None:
        """The batch that was begun and not finished."""
        return self._last.begun

    def begin(
        self,
        before: Position | None,
        after: Position,
        end_offsets: Mapping[int, int],
        offsets: Offsets | None = None,
    ) -> BegunBatch:
        """Record a new batch. Durable when it returns."""
        last = self._last
        assert last.begun is None, "the last batch is not finished"
        batch = BegunBatch(last.number + 1, before, after, dict(end_offsets), offsets or {})
        self._write(last.number, last.position, batch)
        return batch

    def finish(self, batch: BegunBatch) -> None:
        """Record that every change of a batch is published."""
        self._write(batch.number, batch.after, None)

    def skip_to(self, position: Position) -> None:
        """Record a position without a batch."""
        self._write(self._last.number, position, None)

    def _write(self, number: int, position: Position | None, begun: BegunBatch | None) -> None:
        entry = _Entry(number, position, begun)
        self._folder.write_text(FILE, json.dumps(asdict(entry), indent=2) + "\n")
        self._last = entry


def _entry(text: str) -> _Entry:
    found = json.loads(text)
    return _Entry(found["number"], _position(found["position"]), _begun(found["begun"]))


def _position(found: Mapping[str, int] | None) -> Position | None:
    return None if found is None else Position(**found)


def _begun(found: Mapping[str, Any] | None) -> BegunBatch | None:
    if found is None:
        return None
    after = _position(found["after"])
    assert after is not None
    return BegunBatch(
        found["number"],
        _position(found["before"]),
        after,
        offsets_from_json({"": found["end_offsets"]})[""],
        offsets_from_json(found["offsets"]),
    )

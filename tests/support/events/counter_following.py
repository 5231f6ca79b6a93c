"""Counter values from events, computed as docs/reference/event-format.md describes."""

from base64 import b64decode
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.support.segments.segment_reading import Event

Json = dict[str, Any]
Row = tuple[str, int | None]
"""The columns `page` and `day` of the recording; no day: the static row."""


@dataclass(slots=True)
class Shard:
    """The newest shard of a counter id: its total is carried on by deltas where they fit."""

    clock: int
    total: int
    ts_us: int


@dataclass(slots=True)
class Counter:
    """One column of one row."""

    shards: dict[str, Shard] = field(default_factory=dict)
    is_deleted: bool = False
    """By itself, which nothing that is written later undoes."""

    def add(self, news: Json, ts_us: int) -> bool:
        """True: the shard came as a delta."""
        known = self.shards.get(news["id"])
        if known is not None and news["clock"] <= known.clock:
            return False
        fits = known is not None and news.get("since") == known.clock
        total = known.total + news["delta"] if known and fits else news["count"]
        assert total == news["count"]
        self.shards[news["id"]] = Shard(news["clock"], total, ts_us)
        return fits

    def values(self, deleted_to_us: int) -> set[int | None]:
        """What SELECT may give when everything up to `deleted_to_us` is deleted: one value, but of
        a counter that was counted on behind the deletion of its range or partition. A memtable
        that still holds the deleted shards merges them with the new one; once it is flushed they
        are gone (`AtomicBTreePartition`)."""
        shards = self.shards.values()
        live = [shard.total for shard in shards if shard.ts_us > deleted_to_us]
        if not live or self.is_deleted:
            return {None}
        return {sum(live), sum(shard.total for shard in shards)}


@dataclass(slots=True)
class Table:
    """All counters of one table."""

    counters: dict[tuple[Row, str], Counter] = field(default_factory=dict)
    deletions: list[tuple[str, bytes, bytes | None, int]] = field(default_factory=list)
    """Page, from and to in byte-comparable form (None: with the static row), write time."""
    places: dict[Row, bytes] = field(default_factory=dict)
    deltas: int = 0

    def apply(self, events: Iterable[Event]) -> None:
        for event in events:
            self._apply(event)

    def _apply(self, event: Event) -> None:
        cells, after = event.value["cells"], event.value["after"]
        page = event.key["page"]
        if "del" in cells:
            ts_us = cells["del"]["ts"]
            match cells["kind"]:
                case "partition":
                    self.deletions.append((page, b"", None, ts_us))
                case "range":
                    low, high = b64decode(cells["lo"]), b64decode(cells["hi"])
                    self.deletions.append((page, low, high, ts_us))
                case _:
                    place = b64decode(cells["ck"])
                    self.deletions.append((page, place, place + b"\0", ts_us))
            return
        row = (page, event.key["day"])
        if row[1] is not None:
            self.places[row] = b64decode(cells["ck"])
        for cell in cells["cell"]:
            counter = self.counters.setdefault((row, cell["col"]), Counter())
            shown = after[cell["col"]]
            assert shown["value"] is None
            if cell["val"] is None:
                assert "shards" not in shown
                counter.is_deleted = True
                continue
            for news in shown["shards"]:
                self.deltas += counter.add(news, cell["ts"])

    def values(self, row: Row, column: str) -> set[int | None]:
        """What SELECT may give for it."""
        counter = self.counters.get((row, column))
        if counter is None:
            return {None}
        place = self.places.get(row)
        covering = [
            ts_us
            for page, low, high, ts_us in self.deletions
            if page == row[0]
            and (high is None or (place is not None and low <= place and place < high))
        ]
        return counter.values(max(covering, default=-(1 << 63)))

    def check(self, answer: list[list[Any]]) -> None:
        """Whether this is what `SELECT page, day, seen, kept, visits` says."""
        rows = {(page, day): values for page, day, *values in answer}
        for row in sorted(rows.keys() | self.places.keys()):
            seen, kept, visits = rows.get(row, (None, None, None))
            assert seen in self.values(row, "seen"), row
            assert kept in self.values(row, "kept"), row
            if row in rows:
                assert visits in self.values((row[0], None), "visits"), row

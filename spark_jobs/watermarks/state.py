"""Watermarks of the topics, and which of them a consumer has reached. Pure.

A watermark is about Kafka. The broker acknowledged its events before the agent sent it. So they are
before all end offsets that anyone asks for after reading the watermark. Each watermark is stored
with such end offsets, and holds for a consumer at or after them.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from spark_jobs.reconcile.store import Offsets
from spark_jobs.watermarks.table_watermark import RangeWatermark, TableWatermark

MAX_PENDING = 100
"""Watermarks that wait for a consumer. Beyond them every second one is dropped."""
_FORMAT = 1

Watermarks = Mapping[str, TableWatermark]
"""By table."""


@dataclass(frozen=True, slots=True)
class Pending:
    """Watermarks, and the end offsets of the topics when they were known."""

    ends: Offsets
    tables: Watermarks
    """Of the tables that have not reached later ones."""

    def is_passed(self, table: str, offsets: Offsets) -> bool:
        """Whether a table with these offsets has everything up to its watermark."""
        if table not in self.tables:
            return False
        # Without a topic of its name, the events may be in one with another name.
        ends = _of_table(self.ends, table)
        return bool(ends) and is_reached(ends, offsets)

    def without(self, table: str) -> "Pending":
        left = {name: each for name, each in self.tables.items() if name != table}
        return replace(self, tables=left)


@dataclass(frozen=True, slots=True)
class WatermarkState:
    in_topics: Watermarks = field(default_factory=dict)
    consumed: Watermarks = field(default_factory=dict)
    pending: tuple[Pending, ...] = ()
    """In the order of their offsets."""

    def published(self, tables: Watermarks, ends: Offsets) -> "WatermarkState":
        """After an evaluation. `ends` were asked for after the messages were read."""
        # A table that is never reached must not displace what the others wait for.
        waiting = self.pending
        if len(waiting) >= MAX_PENDING:
            # The oldest and the newest stay.
            waiting = (waiting[0], *waiting[1::2])
        return replace(self, in_topics=tables, pending=(*waiting, Pending(ends, tables)))

    def reached(self, offsets: Mapping[str, Offsets]) -> "WatermarkState":
        """After each table has everything of its topics up to its offsets."""
        consumed, pending = dict(self.consumed), list(self.pending)
        for table, reached in offsets.items():
            passed = [at for at, each in enumerate(pending) if each.is_passed(table, reached)]
            if passed:
                count = passed[-1] + 1
                consumed[table] = pending[passed[-1]].tables[table]
                pending[:count] = (each.without(table) for each in pending[:count])
        waiting = [each for each in pending if not offsets or offsets.keys() & each.tables.keys()]
        return replace(self, consumed=consumed, pending=tuple(waiting))


def _of_table(ends: Offsets, table: str) -> Offsets:
    """Those of the topics of a table. A consumer need not read the topics of others."""
    return {topic: each for topic, each in ends.items() if topic.endswith(f".{table}")}


def is_reached(ends: Offsets, offsets: Offsets) -> bool:
    """Whether a consumer at `offsets` has read everything before `ends`."""
    return all(
        offsets.get(topic, {}).get(partition, 0) >= end
        for topic, partitions in ends.items()
        for partition, end in partitions.items()
    )


def largest_offsets(commits: Iterable[str | None]) -> Offsets:
    """The largest offsets in texts of commits: `offsets` in a JSON object, as a version store and
    typed tables have them. Other texts are ignored."""
    found: dict[str, dict[int, int]] = {}
    for text in commits:
        try:
            document = json.loads(text or "{}")
            if document.get("part") == "merge":
                # The first half of a batch: its new rows follow in another commit.
                continue
            offsets = _offsets(document.get("offsets") or {})
        except (AttributeError, TypeError, ValueError):
            continue
        for topic, partitions in offsets.items():
            known = found.setdefault(topic, {})
            for partition, offset in partitions.items():
                known[partition] = max(offset, known.get(partition, 0))
    return found


def state_to_json(state: WatermarkState) -> str:
    return json.dumps({"format": _FORMAT, **asdict(state)})


def state_from_json(text: str) -> WatermarkState:
    """Raises ValueError, KeyError or TypeError for another text."""
    document: dict[str, Any] = json.loads(text)
    if document["format"] != _FORMAT:
        raise ValueError(f"format {document['format']}")
    return WatermarkState(
        _watermarks(document["in_topics"]),
        _watermarks(document["consumed"]),
        tuple(
            Pending(_offsets(each["ends"]), _watermarks(each["tables"]))
            for each in document["pending"]
        ),
    )


def _offsets(document: Mapping[str, Mapping[str, int]]) -> Offsets:
    return {
        topic: {int(partition): int(end) for partition, end in partitions.items()}
        for topic, partitions in document.items()
    }


def _watermarks(document: Mapping[str, Any]) -> Watermarks:
    return {
        table: TableWatermark(
            table,
            tuple(
                RangeWatermark(**{**one, "missing": tuple(one["missing"])})
                for one in each["ranges"]
            ),
        )
        for table, each in document.items()
    }

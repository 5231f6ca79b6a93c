"""The times for which Kafka contains every write that the node logged, and what proves them.

    since_ms ──────────────┤gap├───────────── until_ms
                        node restarted

Times are the node's clock in milliseconds. They mean the arrival of a write at this node, not the
write's timestamp. A barrier is the end of the log at one scan: once all of it is acknowledged, the
time of the scan is reached.

A node that becomes a replica of a range has none of the earlier writes in its log, and a table that
becomes published has none of them in its topic. So a watermark is about later writes alone.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from agent.cdc_raw.names import SegmentName
from agent.segments.plan import Segments
from agent.snapshot.ring import TokenRange
from agent.watermark.node_probe import NodeProbe
from sidecar.errors import OffsetSaveError, OffsetStoreError
from sidecar.logs import RateLimitedLog
from sidecar.offsets.properties_store import PropertiesStore


@dataclass(frozen=True, slots=True)
class HeldRange:
    """Tokens from `after` (exclusive) to `to` (inclusive), replicated since `since_ms`."""

    after: int
    to: int
    since_ms: int


@dataclass(frozen=True, slots=True)
class HeldKeyspaces:
    """Keyspaces with the same replication."""

    keyspaces: tuple[str, ...]
    options: Mapping[str, str]
    """As in `system_schema.keyspaces`."""
    ranges: tuple[HeldRange, ...]


@dataclass(frozen=True, slots=True)
class Holdings:
    tables: Mapping[str, int] = field(default_factory=dict)
    """Since when each table is published, in milliseconds, by `keyspace.table`."""
    replication: tuple[HeldKeyspaces, ...] = ()

    def after(self, probe: NodeProbe) -> "Holdings":
        """What remains held keeps its time; another replication of a keyspace begins anew."""
        now_ms = probe.asked_at_ms
        before = {name: held for held in self.replication for name in held.keyspaces}
        groups: dict[tuple[HeldRange, ...], dict[str, list[str]]] = {}
        options: dict[str, Mapping[str, str]] = {}
        for each in probe.replication:
            key = orjson.dumps(each.options, option=orjson.OPT_SORT_KEYS).decode()
            options[key] = each.options
            for name in each.keyspaces:
                held = before.get(name)
                old = held.ranges if held is not None and held.options == each.options else ()
                ranges = tuple(_aged(old, each.ranges, now_ms))
                groups.setdefault(ranges, {}).setdefault(key, []).append(name)
        return Holdings(
            {table: self.tables.get(table, now_ms) for table in probe.tables},
            tuple(
                HeldKeyspaces(tuple(names), options[key], ranges)
                for ranges, by_options in groups.items()
                for key, names in by_options.items()
            ),
        )

    def to_json(self) -> str:
        return orjson.dumps(self).decode()


def holdings_from_json(text: str) -> Holdings:
    """Raises ValueError, KeyError or TypeError for other text."""
    document: dict[str, Any] = orjson.loads(text)
    return Holdings(
        {str(name): int(since) for name, since in document["tables"].items()},
        tuple(
            HeldKeyspaces(
                tuple(each["keyspaces"]),
                each["options"],
                tuple(HeldRange(**one) for one in each["ranges"]),
            )
            for each in document["replication"]
        ),
    )


def _aged(old: Sequence[HeldRange], new: Iterable[TokenRange], now_ms: int) -> Iterator[HeldRange]:
    """The new ranges, split where a part was held before. Both are in order and do not overlap."""
    first = 0
    for each in new:
        at = each.after
        while first < len(old) and old[first].to <= each.after:
            first += 1
        for held in islice(old, first, None):
            if held.after >= each.to:
                break
            start, end = max(held.after, each.after), min(held.to, each.to)
            if at < start:
                yield HeldRange(at, start, now_ms)
            yield HeldRange(start, end, held.since_ms)
            at = end
        if at < each.to:
            yield HeldRange(at, each.to, now_ms)


RESTART = "node_restart"
"""Cause of a gap: an unclean stop loses the end of the log that the node had not synced."""
MAX_GAPS = 100
_NODE_ID = "node.id"
_SINCE, _UNTIL, _GENERATION, _GAPS = "since.ms", "until.ms", "generation", "gaps"
_HOLDINGS = "holdings"


@dataclass(frozen=True, slots=True)
class Gap:
    """Times after `from_ms` up to `to_ms` whose writes may be missing."""

    from_ms: int
    to_ms: int
    cause: str = RESTART


@dataclass(frozen=True, slots=True)
class Coverage:
    """Complete after `since_ms` up to `until_ms`, except for the gaps."""

    since_ms: int
    until_ms: int
    generation: int
    """`gossip_generation` of the node, which grows with each of its starts."""
    gaps: tuple[Gap, ...] = ()
    holdings: Holdings = field(default_factory=Holdings)

    def answered(self, probe: NodeProbe) -> "Coverage":
        """After the node answered."""
        gaps = self.gaps
        is_started = probe.generation != self.generation
        if is_started and probe.loses_end and probe.asked_at_ms > self.until_ms:
            gaps = _bounded((*gaps, Gap(self.until_ms, probe.asked_at_ms)))
        return replace(
            self,
            generation=probe.generation,
            gaps=gaps,
            holdings=self.holdings.after(probe),
        )

    def reached(self, until_ms: int) -> "Coverage":
        """Everything up to a time is acknowledged; never moves back."""
        return self if until_ms <= self.until_ms else replace(self, until_ms=until_ms)

    def to_entries(self, node_id: str) -> dict[str, str]:
        return {
            _NODE_ID: node_id,
            _SINCE: str(self.since_ms),
            _UNTIL: str(self.until_ms),
            _GENERATION: str(self.generation),
            _GAPS: ",".join(f"{gap.from_ms}-{gap.to_ms}" for gap in self.gaps),
            _HOLDINGS: self.holdings.to_json(),
        }


def begun(now_ms: int, probe: NodeProbe) -> Coverage:
    """The coverage of an agent that begins to follow the log."""
    return Coverage(now_ms, now_ms, probe.generation, holdings=Holdings().after(probe))


def coverage_from_entries(entries: Mapping[str, str], node_id: str) -> Coverage | None:
    """None without entries of this node. Raises OffsetStoreError when they are invalid."""
    if entries.get(_NODE_ID) != node_id:
        return None
    try:
        gaps = [text.split("-") for text in entries[_GAPS].split(",") if text]
        return Coverage(
            int(entries[_SINCE]),
            int(entries[_UNTIL]),
            int(entries[_GENERATION]),
            tuple(Gap(int(start), int(end)) for start, end in gaps),
            holdings_from_json(entries[_HOLDINGS]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise OffsetStoreError(
            f"The stored watermark has an invalid entry: {error}. Move the file "
            "watermark.properties away: the watermark then begins at the next start."
        ) from error


def _bounded(gaps: tuple[Gap, ...]) -> tuple[Gap, ...]:
    """Joins the two oldest gaps when there are too many."""
    if len(gaps) <= MAX_GAPS:
        return gaps
    first, second, *others = gaps
    return (Gap(first.from_ms, second.to_ms), *others)


logger = logging.getLogger(__name__)

FILE_NAME = "watermark.properties"


class CoverageStore:
    """The stored coverage of one node."""

    def __init__(self, directory: Path, topic_prefix: str, node_id: str) -> None:
        self._store = PropertiesStore(directory, FILE_NAME, topic_prefix)
        self._node_id = node_id
        self._repeated = RateLimitedLog(logger)

    def load(self) -> Coverage | None:
        """None without one of this node. Raises OffsetStoreError and ConfigError."""
        return coverage_from_entries(self._store.load().values, self._node_id)

    def save(self, coverage: Coverage) -> None:
        """A write error is logged: after a restart an older coverage makes a larger gap."""
        try:
            self._store.save(coverage.to_entries(self._node_id))
        except OffsetSaveError as error:
            self._repeated.log("save", "the watermark cannot be stored", reason=str(error))
        else:
            self._repeated.resolved("save", "storing the watermark works again")


class Barrier:
    """The synced positions of the segments; None stands for the end of a final segment."""

    def __init__(self, positions: Mapping[SegmentName, int | None]) -> None:
        self.positions = positions
        self._left = iter(positions.items())
        self._next = next(self._left, None)

    def is_reached(self, segments: Segments) -> bool:
        """True when Kafka, or the quarantine, holds everything before the positions. A reached
        position is not checked again."""
        while self._next is not None and _is_acknowledged(segments, *self._next):
            self._next = next(self._left, None)
        return self._next is None


def barrier_at(segments: Segments) -> Barrier:
    """The barrier after a scan. A segment without an update of its index has no changes."""
    return Barrier(
        {
            segment.name: None if segment.is_final or segment.idx.completed else segment.idx.offset
            for segment in segments
            if segment.is_final or segment.idx.has_update
        }
    )


def _is_acknowledged(segments: Segments, name: SegmentName, position: int | None) -> bool:
    segment = segments.get(name)
    # A segment leaves the list when it is delivered, or when its loss is recorded.
    if segment is None or segment.is_drained or segment.is_reported:
        return True
    return position is not None and segment.acknowledged_position >= position

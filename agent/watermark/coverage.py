"""Tracks the period for which Kafka contains every write that the node logged.

    since_ms ──────────────┤gap├───────────── until_ms
                        node restarted

Times are milliseconds of the node's clock. They refer to the arrival of a write at this node, not
to the write's timestamp. A barrier is the end of the log at a scan. Once everything before it is
acknowledged, the period extends to one sync lag before the probe that preceded the scan.

The log of a new replica of a range does not contain earlier writes, nor does the topic of a newly
published table. So a watermark covers only later writes.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

import orjson
from pydantic import TypeAdapter

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
    """When the agent began to publish each table, in milliseconds, by `keyspace.table`."""
    replication: tuple[HeldKeyspaces, ...] = ()

    def after(self, probe: NodeProbe) -> "Holdings":
        """Returns the holdings after a probe. Ranges keep their time unless replication changed."""
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


_HOLDINGS_JSON = TypeAdapter(Holdings)


def holdings_from_json(text: str) -> Holdings:
    """Parses holdings. Raises ValueError for invalid text."""
    return _HOLDINGS_JSON.validate_json(text)


def _aged(old: Sequence[HeldRange], new: Iterable[TokenRange], now_ms: int) -> Iterator[HeldRange]:
    """Yields the new ranges, split where a part was held before. Inputs are sorted and disjoint."""
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
"""Cause of a gap: an unclean stop of the node loses the unsynced end of its log."""
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
    """Kafka is complete after `since_ms` up to `until_ms`, except for the gaps."""

    since_ms: int
    until_ms: int
    generation: int
    """`gossip_generation` of the node, which grows with each of its starts."""
    gaps: tuple[Gap, ...] = ()
    holdings: Holdings = field(default_factory=Holdings)

    def answered(self, probe: NodeProbe) -> "Coverage":
        """Returns the coverage after a probe."""
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
        """Returns the coverage after everything up to `until_ms` is acknowledged; never shrinks."""
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
    """Returns the coverage of an agent that begins to follow the log."""
    return Coverage(now_ms, now_ms, probe.generation, holdings=Holdings().after(probe))


def coverage_from_entries(entries: Mapping[str, str], node_id: str) -> Coverage | None:
    """Parses the entries of this node, or returns None. Raises OffsetStoreError if invalid."""
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
    except (KeyError, ValueError) as error:
        raise OffsetStoreError(
            f"The stored watermark contains an invalid entry: {str(error).splitlines()[0]}. Move "
            "the file watermark.properties away: the watermark then begins at the next start."
        ) from error


def _bounded(gaps: tuple[Gap, ...]) -> tuple[Gap, ...]:
    """Joins the two oldest gaps if there are too many gaps."""
    if len(gaps) <= MAX_GAPS:
        return gaps
    first, second, *others = gaps
    return (Gap(first.from_ms, second.to_ms), *others)


logger = logging.getLogger(__name__)

FILE_NAME = "watermark.properties"


class CoverageStore:
    def __init__(self, directory: Path, topic_prefix: str, node_id: str) -> None:
        self._store = PropertiesStore(directory, FILE_NAME, topic_prefix)
        self._node_id = node_id
        self._repeated = RateLimitedLog(logger)

    def load(self) -> Coverage | None:
        """Loads this node's coverage, or None. Raises OffsetStoreError and ConfigError."""
        return coverage_from_entries(self._store.load().values, self._node_id)

    def save(self, coverage: Coverage) -> None:
        """Saves the coverage; only logs an error, which can enlarge a gap after a restart."""
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
        """Whether Kafka or the quarantine contains everything before the positions. A reached
        position is not checked again."""
        while self._next is not None and _is_acknowledged(segments, *self._next):
            self._next = next(self._left, None)
        return self._next is None


def barrier_at(segments: Segments) -> Barrier:
    """Creates the barrier after a scan. A segment without an index update has no changes."""
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

"""Since when the node replicates each token range, and publishes each table. Pure.

A node that becomes a replica of a range has none of the earlier writes in its log, and a table that
becomes published has none of them in its topic. So a watermark is about later writes alone.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import orjson

from agent.snapshot.ring import TokenRange
from agent.watermark.node_probe import NodeProbe


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

"""The watermark of one node, as its agent published it (docs/reference/watermarks.md). Pure."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from spark_jobs.errors import InputError

SILENT_INTERVALS = 3
"""Number of intervals without a message after which an agent counts as silent."""
_KNOWN_VERSION = 1


@dataclass(frozen=True, slots=True)
class Span:
    """The time after `since_ms` up to `until_ms`, in milliseconds."""

    since_ms: int
    until_ms: int


@dataclass(frozen=True, slots=True)
class ReplicatedRange:
    """Tokens from `after` (exclusive) to `to` (inclusive), replicated since a time."""

    after: int
    to: int
    since_ms: int


@dataclass(frozen=True, slots=True)
class Obstacle:
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Hints:
    """Hints that a node keeps for another node."""

    host_id: str
    oldest_ms: int


@dataclass(frozen=True, slots=True)
class NodeReport:
    """The latest watermark of a node. Times are in milliseconds, by the node's clock."""

    node_id: str
    ts_ms: int
    interval_ms: int
    data_center: str
    topic_prefix: str
    complete: Span | None
    """None if the agent does not know its node yet."""
    gaps: tuple[Span, ...]
    obstacles: tuple[Obstacle, ...]
    hints: tuple[Hints, ...] | None
    """None if unknown."""
    tables: Mapping[str, int]
    """Since when each table is published."""
    options: Mapping[str, Mapping[str, str]]
    """The replication options of each keyspace."""
    ranges: Mapping[str, tuple[ReplicatedRange, ...]]
    """The ranges that the node replicates, by keyspace."""

    def is_silent(self, now_ms: int) -> bool:
        return now_ms - self.ts_ms > SILENT_INTERVALS * self.interval_ms

    def covered(self, table: str, held: ReplicatedRange) -> tuple[Span, ...]:
        """The times, in order, for which the topics contain every write to a range of a table that
        this node acknowledged."""
        if self.complete is None or table not in self.tables:
            return ()
        since_ms = max(self.complete.since_ms, self.tables[table], held.since_ms)
        spans = []
        for gap in (*sorted(self.gaps, key=lambda gap: gap.since_ms), None):
            until_ms = self.complete.until_ms if gap is None else gap.since_ms
            until_ms = min(until_ms, self.complete.until_ms)
            if since_ms < until_ms:
                spans.append(Span(since_ms, until_ms))
            if gap is not None:
                since_ms = max(since_ms, gap.until_ms)
        return tuple(spans)


def report_from_json(text: str) -> NodeReport:
    """Parse the value of a message. Raises InputError if it is not a watermark."""
    try:
        document: dict[str, Any] = json.loads(text)
        if document["version"] < _KNOWN_VERSION:
            raise ValueError(f"version {document['version']}")
        since_ms, until_ms = document["complete_since_ms"], document["complete_until_ms"]
        hints = document["hints"]
        replication = document["replication"]
        return NodeReport(
            node_id=str(document["node_id"]),
            ts_ms=int(document["ts_ms"]),
            interval_ms=int(document["interval_ms"]),
            data_center=str(document["data_center"]),
            topic_prefix=str(document["topic_prefix"]),
            complete=None if until_ms is None else Span(int(since_ms), int(until_ms)),
            gaps=tuple(Span(int(gap["from_ms"]), int(gap["to_ms"])) for gap in document["gaps"]),
            obstacles=tuple(
                Obstacle(str(each["code"]), str(each["message"])) for each in document["obstacles"]
            ),
            hints=None
            if hints is None
            else tuple(Hints(str(each["host_id"]), int(each["oldest_ms"])) for each in hints),
            tables={str(name): int(since) for name, since in document["tables"].items()},
            options={
                str(name): each["options"] for each in replication for name in each["keyspaces"]
            },
            ranges={
                str(name): tuple(
                    ReplicatedRange(int(one["after"]), int(one["to"]), int(one["since_ms"]))
                    for one in each["ranges"]
                )
                for each in replication
                for name in each["keyspaces"]
            },
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"A message of the watermark topic is not a watermark ({error!r}): {text[:200]}. Read "
            "only the topic of `watermark.topic`."
        ) from error


def latest_reports(reports: Iterable[NodeReport]) -> tuple[NodeReport, ...]:
    """The latest report of each node by the node's clock, ordered by node id."""
    last: dict[str, NodeReport] = {}
    for report in reports:
        known = last.get(report.node_id)
        if known is None or report.ts_ms >= known.ts_ms:
            last[report.node_id] = report
    return tuple(last[name] for name in sorted(last))

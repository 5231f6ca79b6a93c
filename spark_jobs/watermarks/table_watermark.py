"""Determines up to which time the topics contain every acknowledged write of a table. Pure.

The watermark of a token range is the latest time up to which enough replicas are complete without a
gap (`spark_jobs.watermarks.quorum`). The watermark of a table is the earliest watermark of its
ranges. A later watermark continues an earlier one, because events stay in the topics.

The time of a write is the time of its acknowledgement to the client. A replica acknowledged it at
most `write_timeout_ms` earlier, by a clock that differs by at most `clock_skew_ms`.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise

from spark_jobs.watermarks.quorum import ReplicaGroup, WriteConsistency, replica_rule
from spark_jobs.watermarks.report import NodeReport, ReplicatedRange, Span

MIN_TOKEN, MAX_TOKEN = -(1 << 63), (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class RangeWatermark:
    """Every write acknowledged after `since_ms` up to `until_ms` is in the topics, for tokens from
    `after` (exclusive) to `to` (inclusive)."""

    after: int
    to: int
    since_ms: int
    until_ms: int
    missing: tuple[str, ...] = ()
    """Why the watermark is not later, one sentence per cause."""


@dataclass(frozen=True, slots=True)
class TableWatermark:
    """The ranges of a table, in order, over the whole ring."""

    table: str
    ranges: tuple[RangeWatermark, ...]

    @property
    def since_ms(self) -> int:
        """The latest `since_ms` of the ranges."""
        return max(each.since_ms for each in self.ranges)

    @property
    def until_ms(self) -> int | None:
        """The earliest `until_ms` of the ranges; None if a range covers no time yet."""
        until_ms = min(each.until_ms for each in self.ranges)
        return until_ms if until_ms > self.since_ms else None

    @property
    def missing(self) -> tuple[str, ...]:
        """The causes of all ranges that hold the watermark back."""
        least = min(each.until_ms for each in self.ranges)
        return tuple(
            dict.fromkeys(
                cause for each in self.ranges if each.until_ms == least for cause in each.missing
            )
        )


@dataclass(frozen=True, slots=True)
class WatermarkRules:
    consistency: WriteConsistency
    """The weakest level of the clients' writes."""
    clock_skew_ms: int
    """Maximum difference between the clock of a node and the true time."""
    write_timeout_ms: int
    """Maximum time from a replica's acknowledgement to the coordinator's: the longest request
    timeout of the nodes."""


@dataclass(frozen=True, slots=True)
class _Replica:
    report: NodeReport
    covered: tuple[Span, ...]
    """The covered times, as times of acknowledgements to clients."""


def table_watermark(
    table: str,
    reports: Sequence[NodeReport],
    rules: WatermarkRules,
    now_ms: int,
    before: TableWatermark | None = None,
    *,
    baseline_ms: int | None = None,
) -> TableWatermark:
    """The watermark that follows from the latest reports and an earlier watermark.

    `baseline_ms`: the consumer is complete up to this time, for example by a snapshot. Without it,
    a first watermark begins when agents follow all replicas that report. `now_ms` serves to find
    silent agents.
    """
    keyspace = table.partition(".")[0]
    known = [report for report in reports if keyspace in report.options and table in report.tables]
    held_ends = [[held.to for held in report.ranges[keyspace]] for report in known]
    ends_before = [each.to for each in before.ranges] if before is not None else []

    def replicas(to: int) -> list[_Replica]:
        found = []
        for report, ends in zip(known, held_ends, strict=True):
            index = bisect_left(ends, to)
            held = report.ranges[keyspace][index] if index < len(ends) else None
            if held is not None and held.after < to:
                found.append(_Replica(report, tuple(_shifted(report.covered(table, held), rules))))
        return found

    def range_before(to: int) -> RangeWatermark | None:
        return None if before is None else before.ranges[bisect_left(ends_before, to)]

    bounds = sorted(
        {MIN_TOKEN, MAX_TOKEN}
        | {bound for report in known for held in report.ranges[keyspace] for bound in _ends(held)}
        | {bound for each in (before.ranges if before else ()) for bound in (each.after, each.to)}
    )
    return TableWatermark(
        table,
        tuple(
            _joined(
                _range_watermark(
                    after, to, keyspace, replicas(to), rules, now_ms, range_before(to), baseline_ms
                )
                for after, to in pairwise(bounds)
            )
        ),
    )


def _ends(held: ReplicatedRange) -> tuple[int, int]:
    return held.after, held.to


def _shifted(spans: Iterable[Span], rules: WatermarkRules) -> Iterator[Span]:
    """Convert spans of a node's acknowledgements to spans of acknowledgements to clients."""
    for span in spans:
        since_ms = span.since_ms + rules.clock_skew_ms + rules.write_timeout_ms
        until_ms = span.until_ms - rules.clock_skew_ms
        if since_ms < until_ms:
            yield Span(since_ms, until_ms)


def _range_watermark(
    after: int,
    to: int,
    keyspace: str,
    replicas: Sequence[_Replica],
    rules: WatermarkRules,
    now_ms: int,
    before: RangeWatermark | None,
    baseline_ms: int | None,
) -> RangeWatermark:
    since_ms, base_ms = _beginning_ms(replicas, before, baseline_ms)
    if not replicas:
        return RangeWatermark(after, to, since_ms, base_ms, ("No agent reports this range.",))
    # While nodes disagree on the replication, the stricter replication applies.
    options = {tuple(sorted(each.report.options[keyspace].items())) for each in replicas}
    ends: list[int] = []
    missing: list[str] = []
    for each in sorted(options):
        rule = replica_rule(dict(each), rules.consistency)
        found = [
            (_complete_until(_members(group, replicas), group.needed, base_ms), group)
            for group in rule.groups
        ]
        end_ms, group = (max if rule.is_any else min)(found, key=lambda one: one[0])
        ends.append(end_ms)
        missing += _causes(group, _members(group, replicas), end_ms, now_ms)
    return RangeWatermark(after, to, since_ms, min(ends), tuple(dict.fromkeys(missing)))


def _beginning_ms(
    replicas: Sequence[_Replica], before: RangeWatermark | None, baseline_ms: int | None
) -> tuple[int, int]:
    """When the watermark begins, and up to when it already holds; both 0 if nothing is known."""
    # A watermark that covers no time begins again: agents may follow more replicas now.
    if before is not None and before.until_ms > before.since_ms:
        return before.since_ms, max(before.until_ms, baseline_ms or 0)
    if baseline_ms is not None:
        return baseline_ms, baseline_ms
    begin_ms = max((each.covered[0].since_ms for each in replicas if each.covered), default=0)
    return begin_ms, begin_ms


def _members(group: ReplicaGroup, replicas: Sequence[_Replica]) -> list[_Replica]:
    return [each for each in replicas if group.data_center in (None, each.report.data_center)]


def _complete_until(replicas: Sequence[_Replica], needed: int, base_ms: int) -> int:
    """The latest time up to which `needed` replicas are complete without a gap since `base_ms`."""
    at_ms = base_ms
    while True:
        ends = sorted(
            (
                span.until_ms
                for replica in replicas
                for span in replica.covered
                if span.since_ms <= at_ms < span.until_ms
            ),
            reverse=True,
        )
        if len(ends) < needed:
            return at_ms
        at_ms = ends[needed - 1]


def _causes(
    group: ReplicaGroup, replicas: Sequence[_Replica], end_ms: int, now_ms: int
) -> Iterator[str]:
    """Why the group is complete up to `end_ms` and no further."""
    where = "" if group.data_center is None else f" in {group.data_center}"
    if len(replicas) < group.replicas:
        yield (
            f"{group.replicas - len(replicas)} of {group.replicas} replicas{where} have no agent "
            "that reports them."
        )
    for replica in replicas:
        report = replica.report
        if report.is_silent(now_ms):
            yield f"The agent of node {report.node_id} last reported at {moment(report.ts_ms)}."
        following = next((span for span in replica.covered if span.until_ms > end_ms), None)
        if following is not None and following.since_ms > end_ms:
            yield (
                f"Node {report.node_id} is complete again only from {moment(following.since_ms)}: "
                "it restarted, began to replicate the range, or its agent started."
            )
        for obstacle in report.obstacles:
            yield f"Node {report.node_id}: {obstacle.code}: {obstacle.message}"


def moment(at_ms: int) -> str:
    """Format a time in milliseconds as ISO-8601."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds")


def _joined(ranges: Iterable[RangeWatermark]) -> Iterator[RangeWatermark]:
    """Join adjacent ranges that differ only in their tokens."""
    last: RangeWatermark | None = None
    for each in ranges:
        if last is not None and replace(last, after=each.after, to=each.to) == each:
            last = replace(last, to=each.to)
            continue
        if last is not None:
            yield last
        last = each
    if last is not None:
        yield last

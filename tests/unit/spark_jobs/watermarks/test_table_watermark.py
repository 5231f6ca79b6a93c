"""The watermark of a table never covers a write that no complete replica has."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.watermarks.quorum import WriteConsistency
from spark_jobs.watermarks.report import NodeReport, ReplicatedRange
from spark_jobs.watermarks.table_watermark import (
    MAX_TOKEN,
    MIN_TOKEN,
    TableWatermark,
    WatermarkRules,
    table_watermark,
)
from tests.support.spark.watermark_reports import TABLE, report

QUORUM = WatermarkRules("QUORUM", 0, 0)
ALL_NEEDED = WatermarkRules("ONE", 0, 0)


def watermark(
    *reports: NodeReport,
    rules: WatermarkRules = QUORUM,
    before: TableWatermark | None = None,
    now_ms: int = 0,
    baseline_ms: int | None = None,
) -> TableWatermark:
    return table_watermark(TABLE, reports, rules, now_ms, before, baseline_ms=baseline_ms)


GAP = report("a", 90, gaps=[(30, 40)])
BLOCKED = report("b", 50, obstacles=[("segment_blocked", "it waits")], ts_ms=1000)
LOW, HIGH = ReplicatedRange(MIN_TOKEN, 0, 0), ReplicatedRange(0, MAX_TOKEN, 0)
THREE = (report("a", 90), report("b", 50), report("c", 70))
# Reports, rules, the end of the watermark, and its missing parts.
ONCE: dict[str, tuple[Sequence[NodeReport], WatermarkRules, int | None, tuple[str, ...]]] = {
    "QUORUM needs two of three replicas": (THREE, QUORUM, 70, ()),
    "ONE needs all replicas": (THREE, ALL_NEEDED, 50, ()),
    "a missing agent": (
        THREE[:2],
        ALL_NEEDED,
        None,
        ("1 of 3 replicas have no agent that reports them.",),
    ),
    "no reports": ((), QUORUM, None, ("No agent reports this range.",)),
    "a silent agent and an obstacle": (
        (report("a", 40, ts_ms=0), BLOCKED, report("c", 1, ts_ms=1000)),
        QUORUM,
        40,
        (
            "The agent of node a last reported at 1970-01-01T00:00:00.000+00:00.",
            "Node b: segment_blocked: it waits",
        ),
    ),
    "other replicas bridge a gap": ((GAP, report("b", 90), report("c", 90)), QUORUM, 90, ()),
    "a gap that they do not bridge": (
        (GAP, report("b", 90), report("c", 35)),
        QUORUM,
        35,
        ("Node a is complete again only from 1970-01-01T00:00:00.040",),
    ),
    "the table is as complete as its ranges": (
        (report("a", 90, ranges=(LOW,), replicas=1), report("b", 70, ranges=(HIGH,), replicas=1)),
        QUORUM,
        70,
        (),
    ),
    "the stricter replication counts while nodes disagree": (
        (report("a", 90, replicas=1), report("b", 80, replicas=2)),
        ALL_NEEDED,
        80,
        (),
    ),
}


@pytest.mark.parametrize("name", ONCE)
def test_watermark_follows_reports_and_rules(name: str) -> None:
    reports, rules, until_ms, missing = ONCE[name]
    found = watermark(*reports, rules=rules, now_ms=1000 if BLOCKED in reports else 0)
    assert found.until_ms == until_ms
    for text, expected in zip(found.missing, missing, strict=False):
        assert text.startswith(expected)
    assert len(found.missing) >= len(missing)


def test_watermark_starts_once_enough_agents_have_started() -> None:
    """Agents start one after another, or discover a new table at different times."""
    first = watermark(report("a", 200, since_ms=100))
    assert (first.since_ms, first.until_ms) == (100, None)
    both = [report("a", 400, since_ms=100), report("b", 400, since_ms=300)]
    later = watermark(*both, before=first)
    assert (later.since_ms, later.until_ms) == (300, 400)
    third = report("c", 500, since_ms=450)
    last = watermark(*both, third, before=later)
    assert (last.since_ms, last.until_ms) == (300, 400)


def test_watermark_continues_and_never_moves_back() -> None:
    before = watermark(report("a", 90), report("b", 90), report("c", 90))
    after = watermark(report("a", 95), before=before)
    assert (after.since_ms, after.until_ms) == (0, 90)
    later = watermark(report("a", 95), report("b", 99), before=after)
    assert later.until_ms == 95


def test_baseline_covers_times_before_the_log() -> None:
    late = [report(node, 90, since_ms=60) for node in "abc"]
    before = watermark(*(report(node, 50) for node in "abc"))
    assert watermark(*late, before=before).until_ms == 50
    assert watermark(*late, before=before, baseline_ms=70).until_ms == 90


def test_clock_skew_and_timeout_shorten_covered_times() -> None:
    rules = WatermarkRules("ALL", clock_skew_ms=5, write_timeout_ms=20)
    found = watermark(report("a", 90, replicas=1), rules=rules)
    assert (found.since_ms, found.until_ms) == (25, 85)


def test_moved_replica_is_complete_from_its_start() -> None:
    before = watermark(report("a", 50, replicas=1))
    ranges = (ReplicatedRange(MIN_TOKEN, MAX_TOKEN, 60),)
    moved = report("b", 90, replicas=1, ranges=ranges)
    assert watermark(moved, before=before).until_ms == 50
    both = watermark(moved, report("a", 65, replicas=1), before=before)
    assert both.until_ms == 90


@dataclass
class Replica:
    """A node: its log by its own clock, and the ranges that its agent published."""

    skew_ms: int
    since_ms: int
    log: list[tuple[int, int]] = field(default_factory=list)
    """Time of the acknowledgement by the node, and the number of the write."""
    until_ms: int = 0
    gaps: list[tuple[int, int]] = field(default_factory=list)

    def published(self) -> set[int]:
        """Writes that are certainly in the topics: acknowledged in the covered times."""
        return {
            write
            for at_ms, write in self.log
            if self.since_ms < at_ms <= self.until_ms
            and not any(since < at_ms <= until for since, until in self.gaps)
        }

    def report(self, name: str, replicas: int) -> NodeReport:
        ranges = (ReplicatedRange(MIN_TOKEN, MAX_TOKEN, self.since_ms),)
        return report(
            name,
            self.until_ms,
            since_ms=min(self.since_ms, self.until_ms),
            gaps=self.gaps,
            ranges=ranges,
            replicas=replicas,
        )


WRITTEN: dict[WriteConsistency, int] = {"ONE": 1, "TWO": 2, "QUORUM": 2, "ALL": 3}
SKEW_MS, TIMEOUT_MS = 6, 15


@settings(max_examples=300)
@given(st.sampled_from(sorted(WRITTEN)), st.integers(0, 400), st.integers(0, 1 << 32))
def test_every_write_up_to_watermark_is_published(
    consistency: WriteConsistency, writes: int, seed: int
) -> None:
    """One range with three replicas; a fourth node replaces one of them midway."""
    rng = random.Random(seed)
    nodes = [Replica(rng.randint(-SKEW_MS, SKEW_MS), rng.choice([0, 0, 30, 300])) for _ in range(4)]
    moved_ms = rng.randint(0, 1000)
    nodes[3].since_ms = moved_ms + nodes[3].skew_ms + rng.randint(0, 50)
    acknowledged: dict[int, int] = {}
    for write in range(writes):
        at_ms = rng.randint(1, 1000)
        acknowledged[write] = at_ms
        replicas = nodes[1:] if at_ms - TIMEOUT_MS > moved_ms else nodes[:3]
        for node in rng.sample(replicas, WRITTEN[consistency]):
            logged_ms = at_ms - rng.randint(0, TIMEOUT_MS) + node.skew_ms
            node.log.append((logged_ms, write))
    for node in nodes:
        for _ in range(rng.randint(0, 2)):
            start = rng.randint(0, 1000)
            node.gaps.append((start, start + rng.randint(1, 200)))
    # The replaced node stops with its last range; its agent sends no later report.
    last_ms = [moved_ms + nodes[0].skew_ms, 1100, 1100, 1100]
    rules = WatermarkRules(consistency, SKEW_MS, TIMEOUT_MS)
    before: TableWatermark | None = None
    for _ in range(rng.randint(1, 5)):
        for node, most_ms in zip(nodes, last_ms, strict=True):
            node.until_ms = min(most_ms, max(node.until_ms, rng.randint(0, 1200)))
        reports = [node.report(name, 3) for name, node in zip("abcd", nodes, strict=True)]
        heard = [each for each in reports if rng.random() < 0.9]
        before = table_watermark(TABLE, heard, rules, 0, before)
        if before.until_ms is None:
            continue
        published = set().union(*(node.published() for node in nodes))
        claimed = {
            write
            for write, at_ms in acknowledged.items()
            if before.since_ms < at_ms <= before.until_ms
        }
        assert claimed <= published

"""`agent size` and the measured costs that it uses."""

import re
from pathlib import Path

import pytest

from agent.cli.size import (
    CPU_US,
    EVENT_BYTES,
    MOST_EVENTS_PER_S,
    PEAK_BYTES,
    SEGMENT_BYTES,
    compute_sizing,
)

BENCHMARKS = Path("docs/evidence/benchmarks.md").read_text()
SIZING = Path("docs/how-to/sizing.md").read_text()


def test_costs_are_those_of_the_published_benchmarks() -> None:
    agent = re.search(r"^\| agent \| ([\d,]+) \([^|]+\| ([\d.]+) \|", BENCHMARKS, re.M)
    assert agent is not None
    assert (int(agent[1].replace(",", "")), float(agent[2])) == (MOST_EVENTS_PER_S, CPU_US)
    for name, (_, event_bytes) in zip(("140 bytes", "1 KiB"), EVENT_BYTES, strict=True):
        row = re.search(rf"^\| {name} \|(?:[^|]+\|){{5}} ([\d,]+) \|", BENCHMARKS, re.M)
        assert row is not None
        assert int(row[1].replace(",", "")) == event_bytes
    assert f"at most {PEAK_BYTES >> 20} MiB" in SIZING


def test_sizes_follow_rate_copies_and_outage() -> None:
    found = compute_sizing(
        writes=200_000, mutation_bytes=140, nodes=60, replication_factor=3, outage_s=3600
    )
    assert (found.events_per_s, found.cluster_events_per_s) == (10_000, 600_000)
    assert found.agent_cores == pytest.approx(0.073)
    assert found.cdc_total_space_bytes == 10_000 * 152 * 3600 + 2 * SEGMENT_BYTES
    assert found.catch_up_s == pytest.approx(10_000 * 3600 / 174_300)
    assert found.topic_bytes_per_s == 600_000 * 1153


def test_rate_above_the_limit_never_catches_up() -> None:
    found = compute_sizing(
        writes=200_000, mutation_bytes=140, nodes=1, replication_factor=1, outage_s=1
    )
    assert found.catch_up_s is None

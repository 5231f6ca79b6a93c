"""The times that a watermark covers, and how they are stored."""

import pytest

from agent.snapshot.ring import whole_ring
from agent.watermark.coverage import MAX_GAPS, Coverage, Gap, begun, coverage_from_entries
from agent.watermark.node_probe import NodeProbe, Replication
from sidecar.errors import OffsetStoreError

COVERAGE = Coverage(100, 900, 1)


def probe(generation: int, asked_at_ms: int, *, loses_end: bool = True) -> NodeProbe:
    replication = Replication(("ks",), {"class": "SimpleStrategy"}, whole_ring())
    return NodeProbe(asked_at_ms, generation, "a", 5, loses_end, ("ks.t",), (replication,), None)


def test_the_end_moves_forward_only() -> None:
    assert begun(100, probe(1, 90)).reached(50).until_ms == 100
    assert COVERAGE.reached(901).until_ms == 901


def test_a_restart_leaves_a_gap_up_to_the_first_answer() -> None:
    after = COVERAGE.answered(probe(2, 1500))
    assert after.gaps == (Gap(900, 1500),)
    assert after.answered(probe(2, 1600)) == after


def test_a_restart_leaves_no_gap_when_writes_are_acknowledged_after_their_sync() -> None:
    assert COVERAGE.answered(probe(2, 1500, loses_end=False)).gaps == ()


def test_the_oldest_gaps_are_joined() -> None:
    coverage = begun(0, probe(0, 0))
    for start in range(1, MAX_GAPS + 2):
        coverage = coverage.answered(probe(start, 10 * start)).reached(10 * start + 1)
    assert (len(coverage.gaps), coverage.gaps[0]) == (MAX_GAPS, Gap(0, 20))


def test_entries_are_read_back() -> None:
    coverage = Coverage(100, 900, 7, (Gap(200, 300), Gap(400, 500)), begun(0, probe(7, 0)).holdings)
    entries = coverage.to_entries("n")
    assert coverage_from_entries(entries, "n") == coverage
    assert coverage_from_entries(entries, "another") is None
    assert coverage_from_entries({}, "n") is None


def test_invalid_entries_name_the_file() -> None:
    entries = COVERAGE.to_entries("n") | {"until.ms": "soon"}
    with pytest.raises(OffsetStoreError, match=r"watermark\.properties"):
        coverage_from_entries(entries, "n")

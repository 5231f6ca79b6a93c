"""Segments whose log ends before a position in their index."""

import pytest

from tests.acceptance.faults.filesystem_harness import FilesystemHarness
from tests.acceptance.faults.recorded import Recording, recording, schema_of
from tests.acceptance.faults.situation import situation
from tests.oracle.reference.descriptor import read_descriptor
from tests.oracle.reference.sections import read_sections
from tests.support.agents.fault_reports import Report

WORKLOAD = "timestamps"
NEWER = "batches"
"""A newer segment proves that the node no longer writes to the older one."""


slow = pytest.mark.slow


@situation("A completed segment is zeroed from a section boundary on")
def test_zeroed_completed_segment_is_recorded(harness: FilesystemHarness, report: Report) -> None:
    require_record_of_damaged(harness, report, "\nCOMPLETED")


@slow
@situation("A completed segment is cut at a section boundary")
def test_cut_completed_segment_is_recorded(harness: FilesystemHarness, report: Report) -> None:
    require_record_of_damaged(harness, report, "\nCOMPLETED", is_cut=True)


@slow
@situation(
    "A segment that the node released without COMPLETED is zeroed from a section boundary on"
)
def test_zeroed_released_segment_is_recorded(harness: FilesystemHarness, report: Report) -> None:
    require_record_of_damaged(harness, report, "")


@slow
@situation("A compressed segment that the node replayed is cut at a section boundary")
def test_cut_replayed_segment_is_recorded(harness: FilesystemHarness, report: Report) -> None:
    require_record_of_replayed(harness, report, is_cut=True)


@slow
@situation("A compressed segment that the node replayed is zeroed from a section boundary on")
def test_zeroed_replayed_segment_is_recorded(harness: FilesystemHarness, report: Report) -> None:
    require_record_of_replayed(harness, report, is_cut=False)


def require_record_of_damaged(
    harness: FilesystemHarness, report: Report, end: str, *, is_cut: bool = False
) -> None:
    """`end` of the index file, after the recorded offset."""
    found = recording(WORKLOAD)
    boundary = middle(found)
    rest = b"" if is_cut else bytes(len(found.data) - boundary)
    put(harness, found, found.data[:boundary] + rest, found.idx.split("\n")[0] + end)
    require_record(harness, found, boundary, report)


def middle(found: Recording) -> int:
    """Section boundary with events on both sides."""
    positions = [line["pos"] for line in found.lines]
    sections = read_sections(found.data, read_descriptor(found.data, found.name.log))
    return next(each.marker for each in sections if positions[0] < each.marker < positions[-1])


def require_record_of_replayed(harness: FilesystemHarness, report: Report, *, is_cut: bool) -> None:
    found = recording("lz4")
    harness.schema.write_text(schema_of((found, recording(NEWER))))
    sections = list(read_sections(found.data, read_descriptor(found.data, found.name.log)))
    positions = [line["pos"] for line in found.lines]
    kept = next(each for each in sections if positions[0] <= each.end < positions[-1])
    rest = b"" if is_cut else bytes(len(found.data) - kept.file_end)
    # A replay writes the length of the file, which is less than the logical end.
    put(harness, found, found.data[: kept.file_end] + rest, f"{len(found.data)}\nCOMPLETED")
    require_record(harness, found, kept.end, report)


def put(harness: FilesystemHarness, found: Recording, data: bytes, idx: str) -> None:
    harness.put(NEWER)
    harness.cdc_raw.joinpath(found.name.idx).write_text(idx)
    harness.cdc_raw.joinpath(found.name.log).write_bytes(data)
    harness.expected += found.events()


def require_record(
    harness: FilesystemHarness, found: Recording, boundary: int, report: Report
) -> None:
    with harness.running() as agent:
        agent.until_not_ok("segment_quarantined", found.name.log, "quarantine list`")
        require_warning(harness, found)
        assert agent.stop() == 0
    (reason,) = harness.reasons()
    end = int(found.idx.split("\n")[0])
    assert reason["segment"] == found.name.log
    assert reason["ranges"][0]["start"] == boundary
    assert any(each["end"] in (end, None) for each in reason["ranges"])
    assert (harness.relocation / "error" / found.name.log).exists()
    missing = harness.undelivered()
    assert missing
    assert all(int(event.split("/")[1]) > boundary for event in missing)
    report(harness.outcome(missing))


def require_warning(harness: FilesystemHarness, found: Recording) -> None:
    lines = harness.folder.joinpath("agent.log").read_text().splitlines()
    assert any("WARNING" in line and found.name.log in line for line in lines)

"""Quarantined segments that are read again."""

from agent.quarantine.entries import request_retry
from tests.support.pipeline.harness import PipelineHarness


def repaired(harness: PipelineHarness) -> None:
    """Whatever was wrong with the segment is not any more."""
    for log in harness.raw.logs.values():
        log.records = [
            type(record)(record.start, record.end, record.table, record.events)
            for record in log.records
        ]


def test_a_segment_is_read_again_from_its_beginning(harness: PipelineHarness) -> None:
    log = harness.raw.segment(1, 2)
    log.add(1, is_damaged=True)
    log.add(1)
    harness.raw.index(log, "1048576\nCOMPLETED")
    harness.settle()
    assert log.name.log in harness.quarantined()
    first = len(harness.collect())
    repaired(harness)
    request_retry(harness.quarantine.directory, [log.name])
    harness.pass_time(5)
    assert harness.quarantined() == set()
    assert harness.archived() == {log.name.log, log.name.idx}
    assert harness.collect()[first:] == log.ids()
    assert harness.raw.names() == set()


def test_segment_with_remaining_damage_is_quarantined_again(harness: PipelineHarness) -> None:
    log = harness.raw.segment(1, 2)
    log.add(1, is_damaged=True)
    harness.raw.index(log, "1048576\nCOMPLETED")
    harness.settle()
    request_retry(harness.quarantine.directory, [log.name])
    harness.pass_time(5)
    assert harness.quarantined() == {log.name.log, log.name.idx, f"{log.name.log}.reason.json"}
    reads = log.reads
    harness.pass_time(60)
    assert log.reads == reads, "asked for once, read once"


def test_a_request_outlives_the_agent(harness: PipelineHarness) -> None:
    log = harness.raw.segment(1, 2)
    log.add(1, is_damaged=True)
    harness.raw.index(log, "1048576\nCOMPLETED")
    harness.settle()
    repaired(harness)
    request_retry(harness.quarantine.directory, [log.name])
    harness.kill()
    harness.settle()
    assert harness.archived() == {log.name.log, log.name.idx}

"""Quarantined segments that are read again."""

from agent.quarantine.entries import request_retry
from tests.support.pipeline_harness import Rig


def repaired(rig: Rig) -> None:
    """Whatever was wrong with the segment is not any more."""
    for log in rig.raw.logs.values():
        log.records = [
            type(record)(record.start, record.end, record.table, record.events)
            for record in log.records
        ]


def test_a_segment_is_read_again_from_its_beginning(rig: Rig) -> None:
    log = rig.raw.segment(1, 2)
    log.add(1, is_damaged=True)
    log.add(1)
    rig.raw.index(log, "1048576\nCOMPLETED")
    rig.settle()
    assert log.name.log in rig.quarantined()
    first = len(rig.collect())
    repaired(rig)
    request_retry(rig.quarantine.directory, [log.name])
    rig.pass_time(5)
    assert rig.quarantined() == set()
    assert rig.archived() == {log.name.log, log.name.idx}
    assert rig.collect()[first:] == log.ids()
    assert rig.raw.names() == set()


def test_what_is_still_wrong_is_quarantined_again(rig: Rig) -> None:
    log = rig.raw.segment(1, 2)
    log.add(1, is_damaged=True)
    rig.raw.index(log, "1048576\nCOMPLETED")
    rig.settle()
    request_retry(rig.quarantine.directory, [log.name])
    rig.pass_time(5)
    assert rig.quarantined() == {log.name.log, log.name.idx, f"{log.name.log}.reason.json"}
    reads = log.reads
    rig.pass_time(60)
    assert log.reads == reads, "asked for once, read once"


def test_a_request_outlives_the_agent(rig: Rig) -> None:
    log = rig.raw.segment(1, 2)
    log.add(1, is_damaged=True)
    rig.raw.index(log, "1048576\nCOMPLETED")
    rig.settle()
    repaired(rig)
    request_retry(rig.quarantine.directory, [log.name])
    rig.kill()
    rig.settle()
    assert rig.archived() == {log.name.log, log.name.idx}

"""A segment whose next record needs a schema that the agent does not know yet."""

from tests.support.agents.quarantine_reasons import reason_of
from tests.support.pipeline.harness import MakeHarness, PipelineHarness


def blocked_message(harness: PipelineHarness) -> str:
    return harness.view.blocked.message if harness.view.blocked is not None else ""


def test_blocked_segment_resumes_when_the_schema_arrives(harness: PipelineHarness) -> None:
    log = harness.raw.completed(1, 2)
    log.add(2, table="ks.new")
    log.add(2)
    behind = harness.raw.completed(2, 2)
    harness.settle()
    assert harness.collect() == log.ids()[:2]
    assert harness.phases == ["blocked", "final"]
    assert "ks.new" in blocked_message(harness)
    assert harness.schema.asked == ["ks.new is not known"]
    harness.pass_time(5)
    assert len(harness.schema.asked) > 1
    harness.schema.next_schema = harness.raw.schema("ks.t", "ks.new")
    harness.pass_time(1)
    assert harness.collect() == log.ids() + behind.ids()
    assert blocked_message(harness) == ""
    assert harness.quarantined() == set()


def test_an_unrequested_schema_unblocks_the_segment(harness: PipelineHarness) -> None:
    log = harness.raw.completed(1, 2)
    log.add(2, table="ks.new")
    harness.settle()
    harness.schema.schema = harness.raw.schema("ks.t", "ks.new")
    harness.settle()
    assert harness.collect() == log.ids()


def test_another_schema_does_not_extend_the_blocked_timeout(make_harness: MakeHarness) -> None:
    harness = make_harness(blocked_timeout_ms=10_000)
    harness.raw.completed(1).add(2, table="ks.dropped")
    harness.settle()
    for _ in range(11):
        harness.schema.schema = harness.raw.schema("ks.t")
        harness.pass_time(1)
    assert harness.view.blocked is None
    assert harness.raw.names() == set()


def test_an_abandoned_record_quarantines_its_segment(make_harness: MakeHarness) -> None:
    harness = make_harness(blocked_timeout_ms=10_000)
    log = harness.raw.completed(1, 2)
    log.add(3, 1, table="ks.dropped")
    log.add(2)
    log.add(1, table="ks.dropped")
    harness.settle()
    harness.pass_time(9)
    assert harness.phases == ["blocked"]
    harness.pass_time(1)
    known = [event for event in log.ids() if event.split("/")[1] in ("30", "60")]
    assert harness.collect() == known
    assert harness.raw.names() == set()
    assert {log.name.log, log.name.idx} <= harness.quarantined()
    ranges = reason_of(harness, 1)["ranges"]
    assert [(lost["start"], lost["end"], lost["table_id"]) for lost in ranges] == [
        (30, 50, "ks.dropped"),
        (60, 70, "ks.dropped"),
    ]
    text = harness.metrics.delivery.render().decode()
    assert 'cdc_quarantined_total{reason="unknown_schema"} 2.0' in text
    assert 'cdc_segments_finished_total{disposition="quarantined"} 1.0' in text


def test_abandoned_table_does_not_block_again(make_harness: MakeHarness) -> None:
    harness = make_harness(blocked_timeout_ms=10_000)
    harness.raw.completed(1).add(1, table="ks.dropped")
    harness.settle()
    harness.pass_time(10)
    harness.schema.schema = harness.raw.schema("ks.t", "ks.other")
    log = harness.raw.completed(2, 1)
    log.add(1, table="ks.dropped")
    log.add(1, table="ks.other")
    harness.settle()
    assert harness.view.blocked is None
    assert harness.raw.names() == set()
    assert len(harness.collect()) == 2
    harness.schema.schema = harness.raw.schema("ks.t", "ks.dropped")
    back = harness.raw.completed(3)
    back.add(2, table="ks.dropped")
    harness.settle()
    assert harness.collect()[2:] == back.ids()


def test_without_a_blocked_timeout_the_schema_is_requested_once(make_harness: MakeHarness) -> None:
    harness = make_harness(blocked_timeout_ms=0)
    log = harness.raw.completed(1)
    log.add(2, table="ks.new")
    harness.schema.next_schema = harness.raw.schema("ks.t", "ks.new")
    harness.settle()
    assert harness.collect() == log.ids()
    harness.raw.completed(2).add(2, table="ks.other")
    harness.settle()
    assert harness.raw.names() == set()
    assert len(harness.schema.asked) == 2

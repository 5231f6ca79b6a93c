"""A segment whose next record needs a schema that the agent does not know yet."""

from tests.support.pipeline.harness import MakeHarness, PipelineHarness


def test_blocked_segment_resumes_when_the_schema_arrives(harness: PipelineHarness) -> None:
    log = harness.raw.completed(1, 2).add(2, table="ks.new").add(2)
    behind = harness.raw.completed(2, 2)
    harness.settle()
    assert (harness.collect(), harness.phases) == (log.ids()[:2], ["blocked", "final"])
    blocked = harness.view.blocked
    assert blocked is not None and "ks.new" in blocked.message
    assert harness.schema.asked == ["ks.new is not known"]
    harness.pass_time(5)
    assert len(harness.schema.asked) > 1
    harness.schema.next_schema = harness.raw.schema("ks.t", "ks.new")
    harness.pass_time(1)
    assert harness.collect() == log.ids() + behind.ids()
    assert harness.view.blocked is None
    assert harness.quarantined() == set()


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
    log = harness.raw.completed(1, 2).add(3, 1, table="ks.dropped").add(2)
    log.add(1, table="ks.dropped")
    harness.settle()
    harness.pass_time(9)
    assert harness.phases == ["blocked"]
    harness.pass_time(1)
    known = [event for event in log.ids() if event.split("/")[1] in ("30", "60")]
    assert (harness.collect(), harness.raw.names()) == (known, set())
    assert {log.name.log, log.name.idx} <= harness.quarantined()
    ranges = harness.ranges(1)
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
    harness.raw.completed(2, 1).add(1, table="ks.dropped").add(1, table="ks.other")
    harness.settle()
    assert harness.view.blocked is None
    assert (harness.raw.names(), len(harness.collect())) == (set(), 2)
    harness.schema.schema = harness.raw.schema("ks.t", "ks.dropped")
    back = harness.raw.completed(3).add(2, table="ks.dropped")
    harness.settle()
    assert harness.collect()[2:] == back.ids()


def test_zero_blocked_timeout_requests_schema_once(make_harness: MakeHarness) -> None:
    harness = make_harness(blocked_timeout_ms=0)
    log = harness.raw.completed(1).add(2, table="ks.new")
    harness.schema.next_schema = harness.raw.schema("ks.t", "ks.new")
    harness.settle()
    assert harness.collect() == log.ids()
    harness.raw.completed(2).add(2, table="ks.other")
    harness.settle()
    assert (harness.raw.names(), len(harness.schema.asked)) == (set(), 2)

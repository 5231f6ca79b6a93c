"""Every undelivered event leaves a WARNING, a metric and a record. The tables below are complete:
tests compare them with the label values of the metrics and with the parser's source."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from agent import metrics
from agent.quarantine.scanner import QuarantineScanner
from commitlog import UnsupportedFeatureError
from tests.support.pipeline.harness import MakeHarness, PipelineHarness
from tests.support.sinks.memory_sink import MemorySink

EVENTS_OF_THE_PARSER = Path(__file__).parents[4] / "commitlog" / "events" / "src"


def damage(make: MakeHarness) -> PipelineHarness:
    harness = make()
    log = harness.raw.completed(1, 2).add(1, is_damaged=True).add(2)
    harness.settle()
    assert harness.collect() == log.ids()
    return harness


def unknown_schema(make: MakeHarness) -> PipelineHarness:
    harness = make(blocked_timeout_ms=1000)
    harness.raw.completed(1, 2).add(3, table="ks.dropped")
    harness.settle()
    harness.pass_time(2)
    assert len(harness.collect()) == 2
    return harness


def unreadable(make: MakeHarness) -> PipelineHarness:
    harness = make()
    harness.raw.completed(1, 2).error = UnsupportedFeatureError("CommitLog-7-1.log: encrypted")
    fine = harness.raw.completed(2, 2)
    harness.settle()
    assert harness.collect() == fine.ids()
    return harness


def vanished(make: MakeHarness) -> PipelineHarness:
    harness = make(sink=MemorySink(automatic=False), window_max_events=4, batch_max_events=4)
    read = harness.raw.completed(2, 4, 4)
    gone = harness.raw.completed(3, 4)
    harness.settle()
    harness.raw.drop(gone)
    harness.settle()
    for _ in range(3):
        harness.acknowledge()
    assert harness.collect() == read.ids()
    return harness


def rejected(make: MakeHarness) -> PipelineHarness:
    harness = make(sink=MemorySink(automatic=False))
    log = harness.raw.completed(1, 2, 2)
    harness.settle()
    harness.sink.fail(harness.sink.waiting[1], "Kafka refuses it: message too large")
    harness.acknowledge()
    (letters,) = harness.quarantine.directory.iterdir()
    letter = json.loads(letters.read_text())
    assert letters.name == f"{log.name.log}.events.ndjson"
    assert (letter["value"], "too large" in letter["reason"]) == (log.ids()[1], True)
    assert (log.name.log in harness.archived(), harness.raw.names()) == (True, set())
    return harness


# Per label `reason` of cdc_quarantined_total: the scenario, the condition and the recorded range.
LOST: dict[str, tuple[Callable[[MakeHarness], PipelineHarness], str, str]] = {
    metrics.DAMAGE: (damage, "segment_quarantined", "1: 30 to 40: the payload CRC does not match"),
    metrics.UNKNOWN_SCHEMA: (unknown_schema, "segment_quarantined", "1: 30 to 40: ks.dropped is"),
    metrics.UNREADABLE: (unreadable, "segment_quarantined", "1: 0 to None: CommitLog-7-1.log: enc"),
    metrics.VANISHED: (
        vanished,
        "segment_lost",
        "3: 0 to None: the segment is gone from cdc_raw before it was read to its end",
    ),
    metrics.REJECTED_EVENT: (rejected, "event_rejected", ""),
}
# Per label `reason` of cdc_skipped_updates_total: why it is no loss, or where it is reported.
SKIPPED = {
    "system": "tables of the node itself",
    "view": "a view's rows are those of its table",
    "not_cdc": "the table is not captured",
    "filtered": "the lists leave the table out",
    "counter": "counter.events=skip",
    "skipped_operation": "skipped.operations",
    "unknown_table": "the record is on record too, as unknown_schema",
    "metadata_log_unreadable": "a statement, no event: the rows follow, and it has a WARNING",
    "schema_unreadable": "a change of schema, no event: it has a WARNING, and the node is asked",
}


@pytest.mark.parametrize("reason", LOST)
def test_undelivered_events_cause_warning_metric_and_condition(
    reason: str, make_harness: MakeHarness, caplog: pytest.LogCaptureFixture
) -> None:
    produce, code, on_record = LOST[reason]
    harness = produce(make_harness)
    assert "WARNING" in [record.levelname for record in caplog.records]
    registry = harness.metrics.delivery.registry
    counted = registry.get_sample_value("cdc_quarantined_total", {"reason": reason})
    assert counted is not None and counted >= 1
    # No time has passed, so the loss is visible immediately.
    usage = harness.view.quarantine
    assert usage == QuarantineScanner(harness.quarantine, harness.raw.directory).scan()
    assert [each.code for each in usage.conditions()] == [code]
    if on_record:
        number = int(on_record[0])
        (lost,) = harness.ranges(number)
        assert f"{number}: {lost['start']} to {lost['end']}: {lost['cause']}".startswith(on_record)
        files = {f"CommitLog-7-{number}.log", f"CommitLog-7-{number}_cdc.idx"}
        assert (files <= harness.quarantined()) == (code == "segment_quarantined")


def test_quarantined_segment_without_reason_remains_a_condition(harness: PipelineHarness) -> None:
    directory = harness.quarantine.directory
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "CommitLog-7-9.log").write_bytes(b"x")
    usage = QuarantineScanner(harness.quarantine, harness.raw.directory).scan()
    (condition,) = usage.conditions()
    assert condition.code == "segment_quarantined"
    assert "CommitLog-7-9.log" in condition.message
    # The state while the agent serves a retry request.
    (directory / "CommitLog-7-9.log.retry").touch()
    usage = QuarantineScanner(harness.quarantine, harness.raw.directory).scan()
    assert tuple(usage.conditions()) == ()


def test_unreadable_quarantine_is_reported_until_readable(
    harness: PipelineHarness,
) -> None:
    reason = harness.quarantine.directory / "CommitLog-7-9.log.reason.json"
    reason.mkdir(parents=True)
    harness.settle()
    harness.pass_time(20)
    assert "cannot be read: Is a directory" in harness.view.record_error
    reason.rmdir()
    harness.pass_time(20)
    assert harness.view.record_error == ""


def test_every_loss_reason_is_in_the_table(harness: PipelineHarness) -> None:
    (family,) = harness.metrics.quarantined.collect()
    labels = {each.labels["reason"] for each in family.samples if each.name.endswith("_total")}
    assert labels == set(LOST) == set(metrics.REASONS)


def test_every_skip_reason_is_in_the_table() -> None:
    found = set()
    for file in EVENTS_OF_THE_PARSER.glob("*.rs"):
        text = file.read_text(encoding="utf-8")
        found |= set(re.findall(r"\.skip\(\s*\"(\w+)\"", text))
        for body in re.findall(r"fn skip_reason\(.*?\n}", text, re.DOTALL):
            found |= set(re.findall(r"Some\(\"(\w+)\"\)", body))
    assert found == set(SKIPPED)

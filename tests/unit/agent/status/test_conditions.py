"""Conditions follow from facts: each fact alone, each pair of facts, and suppressed conditions."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from agent.accord.journal import AccordView
from agent.cdc_raw.names import SegmentName
from agent.cdc_raw.quota import Quota
from agent.check.publication import Publication, Unmatched
from agent.check.unlogged import Reason, UnloggedTable, UnloggedWrites
from agent.pipeline.view import BlockedView
from agent.quarantine.scanner import QuarantineUsage
from agent.snapshot.status import SnapshotFacts
from agent.status.conditions import Facts, conditions_of, status_from
from agent.transfer.transfer import Backlog
from sidecar.check.check import fault, ok, warning
from sidecar.health.condition import Condition, Rank, State
from sidecar.sinks.base import SinkState
from tests.support.agents.given_facts import facts_of

NAME = "CommitLog-7-1.log"
SCHEMA_HOLD = BlockedView(NAME, "the table ks.new is not known.", 12.0, "schema")
UNLOGGED = UnloggedTable("ks", "t", Reason.TRANSACTIONAL_MODE, "transactional_mode = 'full'")
DIFFERS = fault("cdc_raw", "The node uses /a and the agent reads /b.", "x.", code="cdc_raw_differs")


AWAY = "Cassandra does not answer."
FULL = "The disk is full."


@dataclass(frozen=True)
class Case:
    """Facts and the condition that they cause; `piece` is a part of its text."""

    component: str
    code: str
    piece: str
    facts: Mapping[str, Any]

    @property
    def state(self) -> State:
        if self.code in ("cdc_raw_quota_unknown", "unlogged_writes_unknown"):
            return State.WARNING
        return State.FAILING if self.code in FAILING else State.DEGRADED


def case(text: str, **facts: Any) -> Case:
    """`text` is `component/code: piece`."""
    where, _, piece = text.partition(": ")
    component, code = where.split("/")
    return Case(component, code, piece, facts)


FAILING = {
    *("pipeline_stalled", "cdc_raw_unreadable", "segment_blocked"),
    *("sink_unavailable", "quarantine_not_writable"),
}
ROWS = (
    case("pipeline/pipeline_stalled: for 2 min.", stalled_s=121.0),
    case(
        "schema/schema_not_refreshed: 3 tables: Cassandra does not answer.",
        tables=3,
        schema_error=AWAY,
    ),
    case(
        "cdc_raw/cdc_raw_unreadable: Permission denied",
        read_error="/raw cannot be looked at (Permission denied).",
    ),
    case(
        "cdc_raw/segment_not_regular_file: irregular files with segment names, "
        f"which the agent does not read: {NAME}.",
        irregular_segments=(NAME,),
        cdc_raw_directory=Path("/raw"),
    ),
    case(
        "cdc_raw/inotify_unavailable: fs.inotify.max_user_watches",
        watch_error="inotify: no space left.",
    ),
    case(
        f"cdc_raw/segment_blocked: {NAME} has been blocked for 12 s",
        blocked=BlockedView(NAME, "it cannot be read: Permission denied.", 12.0),
    ),
    case(
        "cdc_raw/accord_journal_unreadable: Transactions are not captured: "
        "/journal: Permission denied.",
        accord=AccordView(error="/journal: Permission denied."),
    ),
    case(
        "cdc_raw/accord_transaction_blocked: blocked for 12 s: table ks.new is not in the schema",
        accord=AccordView(blocked="table ks.new is not in the schema.", blocked_s=12.0),
    ),
    case(
        "cdc_raw/accord_transactions_waiting: has not applied 2 transactions; "
        "the oldest began 5 min ago",
        accord=AccordView(waiting=2, oldest_s=301.0),
    ),
    case("cdc_raw/segment_not_released: Set cassandra.config", pinned_by_link=SegmentName(1, 7)),
    case(
        "cdc_raw/cdc_raw_quota_unknown: GRANT SELECT",
        quota=Quota(None, "no SELECT permission.", "GRANT SELECT ON …;"),
    ),
    case("cdc_raw/cdc_raw_nearly_full: 900 B of 1000 B", raw_bytes=900, quota=Quota(1000)),
    case(
        "sink/sink_unavailable: not delivered: no broker answers",
        sink=SinkState(False, "no broker answers"),
    ),
    case(
        "sink/topic_unavailable: p.ks.t", sink=SinkState(True, "1 topic is missing.", ("p.ks.t",))
    ),
    case("offsets/offsets_not_saved: offset.backing.store.dir", save_error=FULL),
    case(
        "quarantine/quarantine_not_writable: agent quarantine discard",
        record_error="The quarantine cannot be written.",
    ),
    case(f"quarantine/segment_not_removed: {NAME}", removal_error=f"{NAME} cannot leave cdc_raw."),
    case(f"quarantine/segment_retry_pending: {NAME}", retry_error=f"{NAME} cannot be put back."),
    case(
        "transfer/transfer_unavailable: 3 finished segments (100 B of 1000 B) wait for gs://b",
        backlog=Backlog("gs://b", 3, 100, 1000, "The store refuses the key."),
    ),
    case(
        "schema_registry/schema_registry_unavailable: does not answer",
        registry_error="the schema registry does not answer.",
    ),
    case(
        "snapshot/snapshot_blocked: a replica is away", snapshot=SnapshotFacts("a replica is away.")
    ),
    case(
        "snapshot/snapshot_offsets_not_saved: The disk is full",
        snapshot=SnapshotFacts(save_error=FULL),
    ),
    case(
        "snapshot/snapshot_table_rejected: agent snapshot start ks.t",
        snapshot=SnapshotFacts(rejected_table="ks.t", rejected_reason="no such column."),
    ),
    case(
        f"quarantine/segment_quarantined: 1 segment has undelivered changes (2 ranges): {NAME}.",
        quarantine=QuarantineUsage(9, 1, available=1, ranges=2, available_names=(NAME,)),
    ),
    case(
        f"quarantine/segment_lost: agent quarantine discard {NAME}",
        quarantine=QuarantineUsage(9, 1, missing=1, ranges=1, missing_names=(NAME,)),
    ),
    case(
        "quarantine/event_rejected: 3 events were rejected by the sink and stored as "
        f"dead letters: {NAME}.",
        quarantine=QuarantineUsage(9, 1, dead_letters=3, dead_letter_names=(NAME,)),
    ),
    case("schema/no_table_captured: WITH cdc = true", publication=Publication()),
    case(
        "schema/no_table_published: the agent deletes segments without an event: shop.orders",
        publication=Publication(("shop.orders",)),
    ),
    case(
        "schema/list_entry_unmatched: field.exclude.list: ks.t.x: there is no such column",
        publication=Publication(
            ("ks.t",),
            ("ks.t",),
            (Unmatched("field.exclude.list", "ks.t.x", "there is no such column"),),
        ),
    ),
    case(
        "schema/writes_bypass_commitlog: ks.t (transactional_mode = 'full').",
        unlogged=UnloggedWrites((UNLOGGED,)),
    ),
    case(
        "schema/unlogged_writes_unknown: DESCRIBE timed out.",
        unlogged=UnloggedWrites(unknown="DESCRIBE timed out.", is_rejected=True),
    ),
    case("cdc_raw/cdc_raw_differs: The node uses /a and the agent reads /b.", findings=(DIFFERS,)),
)
CASES = {row.code: row for row in ROWS}
PAIRS = [
    (one, other)
    for one, other in combinations(CASES, 2)
    if not CASES[one].facts.keys() & CASES[other].facts.keys()
]
# Facts of one cause: the second fact adds no condition.
SAME_CAUSE = {
    ("cdc_raw_unreadable", "inotify_unavailable"),
    ("schema_not_refreshed", "cdc_raw_quota_unknown"),
    ("schema_not_refreshed", "unlogged_writes_unknown"),
}


def codes(facts: Facts) -> list[str]:
    return [each.code for each in conditions_of(facts)]


def test_agent_without_faults_reports_no_condition() -> None:
    assert codes(facts_of(publication=Publication(("ks.t",), ("ks.t",)))) == []
    assert status_from(facts_of()).state is State.OK


@pytest.mark.parametrize("name", CASES)
def test_each_fact_causes_exactly_one_condition(name: str) -> None:
    each = CASES[name]
    facts = facts_of(**each.facts)
    (condition,) = conditions_of(facts)
    assert (condition.code, condition.component) == (each.code, each.component)
    assert condition.state is each.state
    assert status_from(facts).state is (State.OK if each.state is State.WARNING else each.state)
    assert each.piece in f"{condition.message} {condition.remedy}"
    assert is_complete(condition)
    assert codes(facts_of()) == []


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_two_facts_cause_two_conditions_sorted_by_urgency(one: str, other: str) -> None:
    first, second = CASES[one], CASES[other]
    facts = facts_of(**first.facts, **second.facts)
    expected = {first.code} if (one, other) in SAME_CAUSE else {first.code, second.code}
    conditions = status_from(facts).conditions
    assert ({each.code for each in conditions}, len(conditions)) == (expected, len(expected))
    urgencies = [each.urgency for each in conditions]
    assert urgencies == sorted(urgencies, reverse=True)
    worst = max(each.state.severity for each in conditions)
    assert status_from(facts).state.severity == worst
    # Each condition clears independently.
    assert codes(facts_of(**first.facts)) == [first.code]


def test_all_facts_at_once_report_each_code_once() -> None:
    facts = facts_of(**{name: value for c in CASES.values() for name, value in c.facts.items()})
    found = codes(facts)
    assert len(found) == len(set(found))
    assert status_from(facts).state is State.FAILING


def test_unlogged_writes_unknown_in_schema_file_are_no_condition() -> None:
    assert (
        codes(facts_of(unlogged=UnloggedWrites(unknown="schema.file has no CREATE KEYSPACE.")))
        == []
    )


def test_agent_without_a_schema_is_starting() -> None:
    starting = Facts(is_started=False, tables=0)
    assert codes(starting) == codes(replace(starting, tables=3)) == ["starting"]
    away = replace(starting, tables=0, schema_error=AWAY)
    assert codes(away) == ["schema_unavailable"]
    assert status_from(away).state is State.FAILING
    # Faults of the pipeline count only once a pipeline exists.
    assert codes(replace(away, save_error=FULL)) == ["schema_unavailable"]


def test_segment_blocked_by_schema_reports_schema_error() -> None:
    (condition,) = conditions_of(facts_of(blocked=SCHEMA_HOLD, tables=3, schema_error=AWAY))
    assert condition.code == "segment_blocked"
    assert "ks.new is not known. Cassandra does not answer." in condition.message


def test_segment_blocked_by_registry_reports_registry_component() -> None:
    hold = BlockedView(NAME, "the schema registry does not answer.", 1.0, "registry")
    error = "the schema registry does not answer."
    facts = facts_of(blocked=hold, registry_error=error)
    assert codes(facts) == ["segment_blocked"]
    assert conditions_of(facts)[0].component == "schema_registry"
    assert codes(facts_of(registry_error=error)) == ["schema_registry_unavailable"]


def test_sink_closed_at_stop_is_no_fault() -> None:
    closed = facts_of(sink=SinkState(False, "closed"), is_stopping=True)
    assert codes(closed) == []
    assert codes(replace(closed, unacknowledged_events=1)) == ["sink_unavailable"]


def test_check_faults_are_merged_into_one_condition_per_code() -> None:
    findings = (
        ok("node", "It answers."),
        warning("latency", "Late.", "Sync more often.", code="late"),
    )
    assert codes(facts_of(findings=findings)) == []
    other = replace(DIFFERS, message="And /c too.")
    (condition,) = conditions_of(facts_of(findings=(DIFFERS, other, DIFFERS)))
    assert condition.message == f"{DIFFERS.message} And /c too."
    token = fault("http.token.file", "It is not there.", "Make it.", code="http_token_unusable")
    assert codes(facts_of(findings=(token,))) == ["http_token_unusable"]


@pytest.mark.parametrize(
    ("subject", "changed", "code"),
    [
        ("broker", {"sink": SinkState(False, "no broker answers")}, "sink_unavailable"),
        ("node", {"tables": 3, "schema_error": "It does not answer."}, "schema_not_refreshed"),
        ("directories", {"save_error": FULL}, "offsets_not_saved"),
        ("tables", {"publication": Publication()}, "no_table_captured"),
        ("keystore", {"blocked": BlockedView(NAME, "no key.", 1.0)}, "segment_blocked"),
    ],
)
def test_check_finding_is_suppressed_by_pipeline_condition(
    subject: str, changed: dict[str, Any], code: str
) -> None:
    found = fault(subject, "The same.", "The same.", code="found")
    assert codes(facts_of(findings=(found,), **changed)) == [code]
    assert codes(facts_of(findings=(found,))) == ["found"]


def test_rejected_event_condition_lists_remedies() -> None:
    usage = QuarantineUsage(9, 1, dead_letters=1, dead_letter_names=(NAME,))
    (condition,) = conditions_of(facts_of(quarantine=usage))
    assert "raise max.message.bytes of the topic" in condition.remedy
    assert "kafka.producer.max.request.size" in condition.remedy
    assert "exclude the column or field with field.exclude.list" in condition.remedy
    assert "`.events.ndjson` in the quarantine contains its whole value" in condition.remedy


def test_quarantine_condition_lists_only_oldest_segments() -> None:
    usage = QuarantineUsage(
        9, 7, available=7, ranges=9, available_names=("a.log", "b.log", "c.log")
    )
    (condition,) = conditions_of(facts_of(quarantine=usage))
    assert condition.message == (
        "7 segments have undelivered changes (9 ranges): a.log, b.log, c.log, …."
    )
    assert "`agent quarantine retry a.log`" in condition.remedy


def is_complete(condition: Condition) -> bool:
    return condition.message.rstrip("`").endswith((".", ";", "answers")) and bool(condition.remedy)


def test_stopped_or_late_events_precede_lost_events() -> None:
    """The first condition is the message of `/health` and of the page."""
    lost = {"quarantine": QuarantineUsage(missing=1, missing_names=(NAME,))}
    first = {
        name: status_from(facts_of(**{**each.facts, **lost})).conditions[0].code
        for name, each in CASES.items()
    }
    own = {name for name, code in first.items() if code == CASES[name].code != "segment_lost"}
    late = {
        name
        for name, each in CASES.items()
        if conditions_of(facts_of(**each.facts))[0].urgency >= (Rank.LATE, 0)
    }
    assert late <= own
    assert {"sink_unavailable", "schema_not_refreshed", "topic_unavailable"} <= late
    assert "cdc_raw_quota_unknown" not in own


def test_ongoing_loss_is_the_first_condition() -> None:
    facts = {**CASES["sink_unavailable"].facts, **CASES["writes_bypass_commitlog"].facts}
    status = status_from(facts_of(**facts))
    assert [each.code for each in status.conditions] == [
        "writes_bypass_commitlog",
        "sink_unavailable",
    ]
    assert status.state is State.FAILING

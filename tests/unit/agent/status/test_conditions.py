"""What an agent reports follows from its facts: every fact alone, every pair, and what suppresses
what."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from agent.accord.view import AccordView
from agent.cdc_raw.quota import Quota
from agent.check.publication import Publication, Unmatched
from agent.check.unlogged import Reason, UnloggedTable, UnloggedWrites
from agent.pipeline.view import BlockedView
from agent.quarantine.scanner import QuarantineUsage
from agent.snapshot.status import SnapshotFacts
from agent.status.conditions import conditions_of, status_from
from agent.status.facts import Facts, SchemaFacts
from agent.transfer.base import Backlog
from sidecar.check.finding import fault, ok, warning
from sidecar.health.condition import Condition, State
from sidecar.sinks.base import SinkState

NAME = "CommitLog-7-1.log"
DELIVERED = SinkState(True, "events go through")
SCHEMA_HOLD = BlockedView(NAME, "the table ks.new is not known.", 12.0, "schema")
UNLOGGED = UnloggedTable("ks", "t", Reason.TRANSACTIONAL_MODE, "transactional_mode = 'full'")
DIFFERS = fault("cdc_raw", "The node uses /a and the agent reads /b.", "x.", code="cdc_raw_differs")

# What is set, and the condition that it gives: code, state, component, a piece of its text.
CASES: Mapping[str, tuple[dict[str, Any], str, State, str, str]] = {
    "stalled": (
        {"stalled_s": 121.0},
        "pipeline_stalled",
        State.FAILING,
        "pipeline",
        "for 2 min.",
    ),
    "schema is old": (
        {"schema": SchemaFacts(3, "Cassandra does not answer.")},
        "schema_not_refreshed",
        State.DEGRADED,
        "schema",
        "3 tables: Cassandra does not answer.",
    ),
    "cdc_raw": (
        {"read_error": "/raw cannot be looked at (Permission denied)."},
        "cdc_raw_unreadable",
        State.FAILING,
        "cdc_raw",
        "Permission denied",
    ),
    "refused segment": (
        {"irregular_segments": (NAME,), "cdc_raw_directory": Path("/raw")},
        "segment_not_regular_file",
        State.DEGRADED,
        "cdc_raw",
        f"irregular files with segment names, which the agent does not read: {NAME}.",
    ),
    "watch": (
        {"watch_error": "inotify: no space left."},
        "inotify_unavailable",
        State.DEGRADED,
        "cdc_raw",
        "fs.inotify.max_user_watches",
    ),
    "hold": (
        {"blocked": BlockedView(NAME, "it cannot be read: Permission denied.", 12.0)},
        "segment_blocked",
        State.FAILING,
        "cdc_raw",
        f"{NAME} has been blocked for 12 s",
    ),
    "accord journal": (
        {"accord": AccordView(error="/journal: Permission denied.")},
        "accord_journal_unreadable",
        State.DEGRADED,
        "cdc_raw",
        "Transactions are not captured: /journal: Permission denied.",
    ),
    "accord blocked": (
        {"accord": AccordView(blocked="table ks.new is not in the schema.", blocked_s=12.0)},
        "accord_transaction_blocked",
        State.DEGRADED,
        "cdc_raw",
        "blocked for 12 s: table ks.new is not in the schema",
    ),
    "accord waiting": (
        {"accord": AccordView(waiting=2, oldest_s=301.0)},
        "accord_transactions_waiting",
        State.DEGRADED,
        "cdc_raw",
        "has not applied 2 transactions; the oldest began 5 min ago",
    ),
    "link": (
        {"pinned_by_link": (NAME,)},
        "segment_not_released",
        State.DEGRADED,
        "cdc_raw",
        "Set cassandra.config",
    ),
    "quota": (
        {"quota": Quota(None, "no SELECT permission.", "GRANT SELECT ON …;")},
        "cdc_raw_quota_unknown",
        State.DEGRADED,
        "cdc_raw",
        "GRANT SELECT",
    ),
    "full": (
        {"raw_bytes": 900, "quota": Quota(1000)},
        "cdc_raw_nearly_full",
        State.DEGRADED,
        "cdc_raw",
        "900 B of 1000 B",
    ),
    "sink": (
        {"sink": SinkState(False, "no broker answers")},
        "sink_unavailable",
        State.FAILING,
        "sink",
        "not delivered: no broker answers",
    ),
    "topic": (
        {"sink": SinkState(True, "1 topic is missing.", ("p.ks.t",))},
        "topic_unavailable",
        State.DEGRADED,
        "sink",
        "p.ks.t",
    ),
    "offsets": (
        {"save_error": "The disk is full."},
        "offsets_not_saved",
        State.DEGRADED,
        "offsets",
        "offset.backing.store.dir",
    ),
    "record": (
        {"record_error": "The quarantine cannot be written."},
        "quarantine_not_writable",
        State.FAILING,
        "quarantine",
        "agent quarantine discard",
    ),
    "removal": (
        {"removal_error": f"{NAME} cannot leave cdc_raw."},
        "segment_not_removed",
        State.DEGRADED,
        "quarantine",
        NAME,
    ),
    "retry": (
        {"retry_error": f"{NAME} cannot be put back."},
        "segment_retry_pending",
        State.DEGRADED,
        "quarantine",
        NAME,
    ),
    "transfer": (
        {"backlog": Backlog("gs://b", 3, 100, 1000, "The store refuses the key.")},
        "transfer_unavailable",
        State.DEGRADED,
        "transfer",
        "3 finished segments (100 B of 1000 B) wait for gs://b",
    ),
    "registry": (
        {"registry_error": "the schema registry does not answer."},
        "schema_registry_unavailable",
        State.DEGRADED,
        "schema_registry",
        "does not answer",
    ),
    "snapshot": (
        {"snapshot": SnapshotFacts("a replica is away.")},
        "snapshot_blocked",
        State.DEGRADED,
        "snapshot",
        "a replica is away",
    ),
    "snapshot offsets": (
        {"snapshot": SnapshotFacts(save_error="The disk is full.")},
        "snapshot_offsets_not_saved",
        State.DEGRADED,
        "snapshot",
        "The disk is full",
    ),
    "snapshot table": (
        {"snapshot": SnapshotFacts(rejected_table="ks.t", rejected_reason="no such column.")},
        "snapshot_table_rejected",
        State.DEGRADED,
        "snapshot",
        "agent snapshot start ks.t",
    ),
    "quarantined": (
        {"quarantine": QuarantineUsage(9, 1, available=1, ranges=2, available_names=(NAME,))},
        "segment_quarantined",
        State.DEGRADED,
        "quarantine",
        f"1 segment has undelivered changes (2 ranges): {NAME}.",
    ),
    "lost": (
        {"quarantine": QuarantineUsage(9, 1, missing=1, ranges=1, missing_names=(NAME,))},
        "segment_lost",
        State.DEGRADED,
        "quarantine",
        f"agent quarantine discard {NAME}",
    ),
    "rejected": (
        {"quarantine": QuarantineUsage(9, 1, dead_letters=3, dead_letter_names=(NAME,))},
        "event_rejected",
        State.DEGRADED,
        "quarantine",
        f"3 events were rejected by the sink and stored as dead letters: {NAME}.",
    ),
    "nothing captured": (
        {"publication": Publication()},
        "no_table_captured",
        State.DEGRADED,
        "schema",
        "WITH cdc = true",
    ),
    "nothing published": (
        {"publication": Publication(("shop.orders",))},
        "no_table_published",
        State.DEGRADED,
        "schema",
        "the agent deletes segments without an event: shop.orders",
    ),
    "unmatched": (
        {
            "publication": Publication(
                ("ks.t",),
                ("ks.t",),
                (Unmatched("field.exclude.list", "ks.t.x", "there is no such column"),),
            )
        },
        "list_entry_unmatched",
        State.DEGRADED,
        "schema",
        "field.exclude.list: ks.t.x: there is no such column",
    ),
    "unlogged": (
        {"unlogged": UnloggedWrites((UNLOGGED,))},
        "writes_bypass_commitlog",
        State.DEGRADED,
        "schema",
        "ks.t (transactional_mode = 'full').",
    ),
    "unlogged unknown": (
        {"unlogged": UnloggedWrites(unknown="DESCRIBE timed out.", is_rejected=True)},
        "unlogged_writes_unknown",
        State.DEGRADED,
        "schema",
        "DESCRIBE timed out.",
    ),
    "finding": (
        {"findings": (DIFFERS,)},
        "cdc_raw_differs",
        State.DEGRADED,
        "cdc_raw",
        "The node uses /a and the agent reads /b.",
    ),
}
PAIRS = [
    (one, other)
    for one, other in combinations(CASES, 2)
    if not CASES[one][0].keys() & CASES[other][0].keys()
]
# Facts of one cause: the second one reports nothing of its own.
SAME_CAUSE = {
    ("cdc_raw", "watch"),
    ("schema is old", "quota"),
    ("schema is old", "unlogged unknown"),
}


def codes(facts: Facts) -> list[str]:
    return [each.code for each in conditions_of(facts)]


def test_an_agent_without_faults_has_no_condition() -> None:
    published = Publication(("ks.t",), ("ks.t",))
    assert codes(Facts(publication=published)) == []
    assert status_from(Facts()).state is State.OK


@pytest.mark.parametrize("case", CASES)
def test_each_fact_gives_one_condition_and_takes_it_away(case: str) -> None:
    changed, code, state, component, piece = CASES[case]
    facts = Facts(**changed)
    (condition,) = conditions_of(facts)
    assert (condition.code, condition.state, condition.component) == (code, state, component)
    assert piece in f"{condition.message} {condition.remedy}"
    assert is_complete(condition)
    assert status_from(facts).state is state
    healthy = {name: getattr(Facts(), name) for name in changed}
    assert codes(replace(facts, **healthy)) == []


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_two_facts_give_two_conditions_the_worse_first(one: str, other: str) -> None:
    first, second = CASES[one], CASES[other]
    facts = Facts(**first[0], **second[0])
    expected = {first[1]} if (one, other) in SAME_CAUSE else {first[1], second[1]}
    conditions = status_from(facts).conditions
    assert {each.code for each in conditions} == expected
    assert len(conditions) == len(expected)
    severities = [each.state.severity for each in conditions]
    assert severities == sorted(severities, reverse=True)
    # Each goes alone.
    assert codes(Facts(**first[0])) == [first[1]]


def test_everything_at_once_reports_every_cause_once() -> None:
    facts = Facts(
        **{name: value for case in CASES.values() for name, value in case[0].items()},
    )
    found = codes(facts)
    assert len(found) == len(set(found))
    assert status_from(facts).state is State.FAILING


def test_unlogged_writes_of_a_file_that_does_not_describe_them_are_no_condition() -> None:
    assert (
        codes(Facts(unlogged=UnloggedWrites(unknown="schema.file has no CREATE KEYSPACE."))) == []
    )


def test_before_the_first_schema() -> None:
    starting = Facts(is_started=False, schema=SchemaFacts(0))
    assert codes(starting) == ["starting"]
    assert codes(replace(starting, schema=SchemaFacts(3))) == ["starting"]
    away = replace(starting, schema=SchemaFacts(0, "Cassandra does not answer."))
    assert codes(away) == ["schema_unavailable"]
    assert status_from(away).state is State.FAILING
    # Nothing of the pipeline counts before there is one.
    assert codes(replace(away, save_error="The disk is full.")) == ["schema_unavailable"]


def test_a_segment_that_waits_for_the_schema_reports_why_it_is_not_read() -> None:
    facts = Facts(blocked=SCHEMA_HOLD, schema=SchemaFacts(3, "Cassandra does not answer."))
    (condition,) = conditions_of(facts)
    assert condition.code == "segment_blocked"
    assert "ks.new is not known. Cassandra does not answer." in condition.message


def test_a_segment_that_waits_for_the_registry_reports_the_registry() -> None:
    hold = BlockedView(NAME, "the schema registry does not answer.", 1.0, "registry")
    facts = Facts(blocked=hold, registry_error="the schema registry does not answer.")
    assert codes(facts) == ["segment_blocked"]
    assert conditions_of(facts)[0].component == "schema_registry"
    assert codes(replace(facts, blocked=None)) == ["schema_registry_unavailable"]


def test_a_sink_that_is_closed_at_the_end_is_no_fault() -> None:
    closed = Facts(sink=SinkState(False, "closed"), is_stopping=True)
    assert codes(closed) == []
    assert codes(replace(closed, unacknowledged_events=1)) == ["sink_unavailable"]


def test_only_faults_of_the_checks_count_and_each_code_once() -> None:
    findings = (
        ok("node", "It answers."),
        warning("latency", "Late.", "Sync more often.", code="late"),
    )
    assert codes(Facts(findings=findings)) == []
    other = replace(DIFFERS, message="And /c too.")
    (condition,) = conditions_of(Facts(findings=(DIFFERS, other, DIFFERS)))
    assert condition.message == f"{DIFFERS.message} And /c too."
    token = fault("http.token.file", "It is not there.", "Make it.", code="http_token_unusable")
    assert codes(Facts(findings=(token,))) == ["http_token_unusable"]


@pytest.mark.parametrize(
    ("subject", "changed", "code"),
    [
        ("broker", {"sink": SinkState(False, "no broker answers")}, "sink_unavailable"),
        ("node", {"schema": SchemaFacts(3, "It does not answer.")}, "schema_not_refreshed"),
        ("directories", {"save_error": "The disk is full."}, "offsets_not_saved"),
        ("tables", {"publication": Publication()}, "no_table_captured"),
        ("keystore", {"blocked": BlockedView(NAME, "no key.", 1.0)}, "segment_blocked"),
    ],
)
def test_a_check_of_a_cause_that_the_pipeline_reports_adds_nothing(
    subject: str, changed: dict[str, Any], code: str
) -> None:
    found = fault(subject, "The same.", "The same.", code="found")
    assert codes(Facts(findings=(found,), **changed)) == [code]
    assert codes(Facts(findings=(found,))) == ["found"]


def test_names_of_quarantined_segments_are_the_oldest_few() -> None:
    usage = QuarantineUsage(
        9, 7, available=7, ranges=9, available_names=("a.log", "b.log", "c.log")
    )
    (condition,) = conditions_of(Facts(quarantine=usage))
    assert condition.message == (
        "7 segments have undelivered changes (9 ranges): a.log, b.log, c.log, …."
    )
    assert "`agent quarantine retry a.log`" in condition.remedy


def is_complete(condition: Condition) -> bool:
    return condition.message.rstrip("`").endswith((".", ";", "answers")) and bool(condition.remedy)


@pytest.mark.parametrize("name", [n for n, case in CASES.items() if case[2] is State.DEGRADED])
def test_lost_changes_are_the_headline_among_equally_bad_conditions(name: str) -> None:
    """The first condition is the message of `/health` and of the page."""
    lost = {"quarantine": QuarantineUsage(missing=1, missing_names=(NAME,))}
    found = status_from(Facts(**{**CASES[name][0], **lost})).conditions
    assert found[0].code == "segment_lost"

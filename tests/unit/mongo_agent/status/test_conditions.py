"""The conditions of the MongoDB agent follow from its facts: every fact and every pair."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from mongo_agent.dead_letters import LostTimeRange, Quarantine, Unreadable, Usage
from mongo_agent.documents import NEVER
from mongo_agent.server.monitoring import (
    StreamLag,
    StreamWarning,
    WarningThresholds,
    stream_warning,
)
from mongo_agent.snapshot.records import ReplacedCollection
from mongo_agent.status.conditions import ElectionFacts, Facts, conditions_of, status_from
from sidecar.check.check import fault
from sidecar.dead_letters.dead_letter import DeadLetter
from sidecar.health.condition import State
from sidecar.leader_election.role import Role
from sidecar.sinks.base import SinkState
from tests.support.mongodb.given_streams import stream_view

OPEN = stream_view()
WARNINGS = WarningThresholds(headroom_ms=3_600_000, stall_ms=60_000, lag_ms=60_000)
DROPPED = ReplacedCollection("shop", "a", NEVER, "dropped")
RENAMED = ReplacedCollection("shop", "b c", NEVER, "renamed to shop.d")
# The changed facts and the expected condition: state, code, component and a part of its text.
CASES: Mapping[str, tuple[dict[str, Any], str]] = {
    "stalled": ({"stalled_s": 121.0}, "FAILING, pipeline_stalled, pipeline, for 2 min."),
    "sink": (
        {"sink": SinkState(False, "no broker answers")},
        "FAILING, sink_unavailable, sink, no broker answers",
    ),
    "topic": (
        {"sink": SinkState(True, "1 topic is missing.", ("p.a",))},
        "DEGRADED, topic_unavailable, sink, p.a",
    ),
    "stream": (
        {"streams": (stream_view("rs0", closed="not authorized on shop"), OPEN)},
        "FAILING, stream_not_open, stream rs0, not authorized on shop",
    ),
    "oplog": (
        {
            "streams": (OPEN,),
            "concerns": {"": StreamWarning("offset_before_oplog_start", "it is short", "see it")},
        },
        "DEGRADED, offset_before_oplog_start, stream, It is short. See it.",
    ),
    "snapshot": (
        {"streams": (stream_view(snapshot_error="not authorized."),)},
        "DEGRADED, snapshot_blocked, snapshot, not authorized",
    ),
    "replaced": (
        {"streams": (stream_view(replaced=[DROPPED, RENAMED]),)},
        "DEGRADED, collection_replaced, snapshot, snapshot start --replace shop.a 'shop.b c'`",
    ),
    "offsets": (
        {"save_error": "The disk is full."},
        "DEGRADED, offsets_not_saved, offsets, The disk is full.",
    ),
    "record": (
        {"record_error": "The quarantine is full."},
        "FAILING, quarantine_not_writable, quarantine, quarantine.max.bytes",
    ),
    "gaps": (
        {"quarantine": Usage(9, gaps=2)},
        "DEGRADED, changes_lost, quarantine, 2 time ranges",
    ),
    "rejected": (
        {"quarantine": Usage(9, dead_letters=1), "quarantine_directory": "/q"},
        "DEGRADED, event_rejected, quarantine, 1 event was not delivered; stored in /q/",
    ),
    "registry": (
        {"registry_error": "It does not answer."},
        "DEGRADED, schema_registry_unavailable, schema_registry, It does not answer.",
    ),
}
PAIRS = [
    (one, other)
    for one, other in combinations(CASES, 2)
    if not CASES[one][0].keys() & CASES[other][0].keys()
]


def codes(facts: Facts) -> list[str]:
    return [each.code for each in conditions_of(facts)]


def test_agent_without_faults_has_no_condition() -> None:
    assert codes(Facts()) == []


@pytest.mark.parametrize("case", CASES)
def test_each_fact_yields_one_condition(case: str) -> None:
    changed, wanted = CASES[case]
    (condition,) = conditions_of(Facts(**changed))
    *found, piece = wanted.split(", ", 3)
    assert [condition.state.name, condition.code, condition.component] == found
    assert piece in f"{condition.message} {condition.remedy}"
    assert condition.remedy


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_two_facts_yield_two_conditions_by_severity(one: str, other: str) -> None:
    first, second = CASES[one], CASES[other]
    conditions = status_from(Facts(**first[0], **second[0])).conditions
    assert sorted(each.code for each in conditions) == sorted(
        each[1].split(", ")[1] for each in (first, second)
    )
    severities = [each.state.severity for each in conditions]
    assert severities == sorted(severities, reverse=True)


def test_starting_agent_is_failing() -> None:
    assert codes(Facts(is_started=False)) == ["starting"]
    assert codes(Facts(is_started=False, start_error="No primary.")) == ["start_blocked"]


def test_standby_agent_is_healthy() -> None:
    """A standby agent needs no pipeline, because the leader delivers."""
    of_group = partial(ElectionFacts, "g")
    assert codes(Facts(is_started=False, election=of_group(Role.STANDBY))) == []
    assert codes(Facts(is_started=False, election=of_group(Role.LEADER))) == ["starting"]
    assert codes(Facts(election=of_group(Role.LEADER))) == []
    joining = Facts(is_started=False, election=of_group(Role.CANDIDATE))
    assert codes(joining) == ["starting"]
    found = fault("broker", "No broker answers.", "Start it.", code="broker_unavailable")
    away = Facts(
        is_started=False, election=of_group(Role.CANDIDATE, "No broker."), findings=(found,)
    )
    (condition,) = conditions_of(away)
    assert (condition.code, condition.state) == ("not_in_group", State.FAILING)
    assert condition.message.endswith("delivers nor stands by: No broker.")


def test_sink_closed_at_stop_is_no_fault() -> None:
    assert codes(Facts(sink=SinkState(False, "closed"), is_stopping=True)) == []


@pytest.mark.parametrize(
    ("findings", "code"),
    [
        (StreamLag(-5, 0.0, 0.0), "offset_before_oplog_start"),
        (StreamLag(9_999, 61.0, 0.0), "stream_stalled"),
        (StreamLag(10, 0.0, 50.0), "oplog_headroom_low"),
        (StreamLag(9_999, 0.0, 61.0), "stream_lagging"),
        (StreamLag(9_999, 0.0, 0.0), None),
        (StreamLag(None, 0.0, 0.0), None),
    ],
)
def test_oplog_and_stream_lag_select_warning_code(findings: StreamLag, code: str | None) -> None:
    found = stream_warning(findings, WARNINGS)
    assert (None if found is None else found.code) == code


def test_ended_stream_does_not_blame_servers() -> None:
    stream = stream_view(closed="An event exceeds 16 MB.", has_ended=True)
    (condition,) = conditions_of(Facts(streams=(stream,)))
    assert "An event exceeds 16 MB." in condition.message
    assert "Start the servers" not in condition.remedy


def test_rejected_events_condition_lists_remedies() -> None:
    facts = Facts(quarantine=Usage(9, dead_letters=1), quarantine_directory="/q")
    (condition,) = conditions_of(facts)
    assert "/q/refused.ndjson" in condition.message
    assert "raise max.message.bytes of the topic" in condition.remedy
    assert "kafka.producer.max.request.size" in condition.remedy
    assert "exclude the column or field with field.exclude.list" in condition.remedy
    assert "contains the whole events" in condition.remedy


def test_many_replaced_collections_share_one_command() -> None:
    many = [replace(DROPPED, collection=f"c{number}") for number in range(6)]
    stream = stream_view(replaced=many, no_deletes="the agent reads only Kafka topics")
    (condition,) = conditions_of(Facts(streams=(stream,)))
    assert "shop.c4 (dropped), …" in condition.message
    assert condition.remedy.startswith("Delete the documents of the old collections in the target")
    assert "the agent reads only Kafka topics" in condition.remedy
    assert "`mongo-agent snapshot start --replace '.*'`" in condition.remedy


def test_quarantine_counts_dead_letters_and_gaps(tmp_path: Path) -> None:
    quarantine = Quarantine(tmp_path / "quarantine", 10_000, "1.2.3")
    assert quarantine.usage() == Usage()
    quarantine.keep(DeadLetter("p.a", b"1", b"2", (), "message too large"))
    quarantine.keep(Unreadable(b"\0", "shop.a", "too short"))
    quarantine.keep(LostTimeRange({"rs": "token"}, "the oplog is short"))
    usage = quarantine.usage()
    assert (usage.dead_letters, usage.gaps) == (2, 1)
    # A new agent counts the same entries; handled entries disappear.
    again = Quarantine(tmp_path / "quarantine", 10_000, "1.2.3")
    assert again.usage() == usage
    (tmp_path / "quarantine" / "refused.ndjson").unlink()
    assert again.usage().dead_letters == 0


@pytest.mark.parametrize(
    ("subject", "changed", "code"),
    [
        ("MongoDB", {"is_started": False, "start_error": "No primary."}, "start_blocked"),
        ("privileges", {"streams": (stream_view(closed="no primary"),)}, "stream_not_open"),
        ("broker", {"sink": SinkState(False, "no broker answers")}, "sink_unavailable"),
        ("topics", {"sink": SinkState(True, "missing", ("p.a",))}, "topic_unavailable"),
        ("schema_registry", {"registry_error": "away"}, "schema_registry_unavailable"),
        ("directories", {"save_error": "The disk is full."}, "offsets_not_saved"),
    ],
)
def test_cause_also_found_by_check_is_reported_once(
    subject: str, changed: dict[str, Any], code: str
) -> None:
    found = fault(subject, "The same.", "The same.", code="found")
    assert codes(Facts(findings=(found,), **changed)) == [code]
    assert codes(Facts(findings=(found,))) == ["found"]
    (condition,) = conditions_of(Facts(findings=(found,)))
    assert condition.state is State.DEGRADED

"""The report of one agent, for any answer."""

from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.fleet.report import report_of, unreachable
from sidecar.fleet.target import Target
from tests.support.agents.fake_agents import health

TARGET = Target("node-1", "http://node-1:8000")
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


def test_report_contains_every_value_of_health() -> None:
    conditions = [{"code": "segment_quarantined"}, {"code": "sink_away"}]
    found = report_of(TARGET, health("degraded", conditions=conditions))
    assert asdict(found) == {
        **{"target": "node-1", "url": "http://node-1:8000", "state": "degraded"},
        "message": "The agent is degraded.",
        "conditions": ("segment_quarantined", "sink_away"),
        **{"service": "cdc-sidecar-cassandra", "version": "0.2.0", "cluster": "lab"},
        **{"datacenter": "dc1", "rack": "r1", "host": "host-1", "node_id": "node-1"},
        **{"topic_prefix": "shop", "configuration_fingerprint": "0123456789ab"},
        **{"destination": "kafka broker:9092", "uptime_s": 60.0, "lag_s": 1.5},
        **{"unacknowledged_events": 3, "quarantined": 0, "snapshot": "completed"},
        **{"cdc_raw_bytes": 50, "cdc_raw_limit_bytes": 200, "cdc_raw_time_to_full_s": 7200.0},
    }
    assert found.place == "lab/dc1/r1/host-1"


@pytest.mark.parametrize(
    ("components", "state"),
    [
        ({}, None),
        ({"snapshot": {"copying": 1, "completed": 5}}, "running"),
        ({"snapshot": {"refused": 1, "copying": 1}}, "rejected"),
        ({"snapshot": {}}, "none"),
        ({"snapshot": {"is_running": False, "is_paused": False}}, "none"),
        ({"snapshot a": {"is_running": False}, "snapshot b": {"is_running": True}}, "running"),
        ({"snapshot": {"is_running": True, "is_paused": True}}, "paused"),
    ],
)
def test_report_summarizes_snapshots_of_both_agents(
    components: dict[str, Any], state: str | None
) -> None:
    assert report_of(TARGET, health(components=components)).snapshot == state


def test_mongodb_quarantine_count_includes_dead_letters_and_gaps() -> None:
    parts = {"quarantine": {"dead_letters": 2, "gaps": 1}}
    assert report_of(TARGET, health(components=parts)).quarantined == 3


@pytest.mark.parametrize(("is_ok", "state"), [(True, "ok"), (False, "failing")])
def test_unknown_status_follows_http_status(is_ok: bool, state: str) -> None:
    assert report_of(TARGET, {"status": "well"}, is_ok=is_ok).state == state


def test_control_characters_never_reach_a_terminal() -> None:
    found = report_of(TARGET, health(message="\x1b[2J\nred\x07" + "x" * 5000))
    assert found.message.startswith(" [2J red ")
    assert len(found.message) == 301
    assert "\x1b" not in unreachable(TARGET, "\x1b]0;title").message


@given(st.dictionaries(st.sampled_from([*health(), "snapshot"]), JSON), JSON)
def test_any_answer_yields_a_report(document: dict[str, Any], part: Any) -> None:
    names = ("sink", "quarantine", "cdc_raw", "snapshot")
    for answer in (document, health(components=dict.fromkeys(names, part))):
        assert report_of(TARGET, answer).state

"""The order of a fleet, its differences and its exit code."""

from dataclasses import replace

from sidecar.fleet.report import AgentReport, report_of, unreachable
from sidecar.fleet.summary import FleetSummary, fleet_of
from sidecar.fleet.target import Target
from tests.support.agents.fake_agents import health


def agent(number: int, status: str = "ok", version: str = "0.2.0") -> AgentReport:
    target = Target(f"node-{number}", f"http://10.0.0.{number}:8000")
    instance = {"host": f"host-{number}", "node_id": f"id-{number}", "version": version}
    return report_of(target, health(status, instance=instance))


DEAD = unreachable(Target("node-9", "http://10.0.0.9:8000"), "Connection refused")


def test_fleet_lists_worst_agents_first() -> None:
    lagging = replace(agent(2), lag_s=90.0)
    filling = replace(agent(3), cdc_raw_time_to_full_s=60.0)
    kept = replace(agent(4, "degraded"), quarantined=2.0)
    agents = [agent(1), lagging, filling, agent(5, "degraded"), kept, agent(6, "failing"), DEAD]
    places = [each.place.rpartition("/")[2] for each in fleet_of(agents).agents]
    assert places == ["node-9", "host-6", "host-4", "host-5", "host-3", "host-2", "host-1"]


def test_agent_with_two_addresses_is_listed_once() -> None:
    second = replace(agent(1), target="v6", url="http://[::1]:8000", uptime_s=60.4)
    assert len(fleet_of([agent(1), second]).agents) == 1
    restarted = replace(second, uptime_s=1.0)
    other_port = replace(second, url="http://[::1]:8001")
    assert len(fleet_of([agent(1), restarted, other_port]).agents) == 3


def test_fleet_summary_is_one_line() -> None:
    assert fleet_of([agent(1)]).summary.text == "1 agent: 1 ok."
    assert fleet_of([]).summary.text == "0 agents: none."
    found = fleet_of([agent(1), agent(2), agent(3, version="0.1.0"), agent(4, "failing"), DEAD])
    assert found.summary.text == (
        "5 agents: 1 unreachable, 1 failing, 3 ok. Versions of cdc-sidecar-cassandra differ: "
        "0.2.0 (3), 0.1.0 (1)."
    )


def test_configurations_are_compared_within_a_topic_prefix() -> None:
    other = replace(agent(2), configuration_fingerprint="ffffffffffff")
    apart = replace(other, topic_prefix="bank")
    assert fleet_of([agent(1), apart]).summary.differences == ()
    (difference,) = fleet_of([agent(1), agent(3), other]).summary.differences
    assert difference.text == (
        "Configurations for the topic prefix shop differ: 0123456789ab (2), ffffffffffff (1)"
    )


def test_fleet_exit_codes_follow_states_and_differences() -> None:
    old = agent(2, version="0.1.0")
    assert fleet_of([agent(1), old]).summary.exit_code() == 0
    assert fleet_of([agent(1), old]).summary.exit_code(requires_same=True) == 7
    assert fleet_of([agent(1), agent(2, "degraded")]).summary.exit_code() == 7
    assert fleet_of([agent(1, "degraded"), agent(2, "failing")]).summary.exit_code() == 8
    assert fleet_of([agent(1), DEAD]).summary.exit_code() == 8


def test_fleet_contains_totals_and_agents() -> None:
    found = fleet_of([agent(1), DEAD])
    assert found.summary == FleetSummary("2 agents: 1 unreachable, 1 ok.", 2, 1, 0, 0, 1, ())
    assert [each.state for each in found.agents] == ["unreachable", "ok"]

"""The finding of truncated tables, and its condition in a running agent."""

from agent.check.truncations import check_truncations
from agent.node.truncations import Truncation
from agent.status.conditions import conditions_of
from agent.status.facts import Facts
from sidecar.check.finding import Level
from sidecar.health.condition import State

TRUNCATED = {
    "shop.orders": Truncation("7", 1_700_000_000_000, 42, 1_700_000_000_500),
    "shop.items": Truncation("8", 1_700_000_000_000, 99, 1_700_000_000_250),
}


def test_it_names_tables_places_times_and_commands() -> None:
    (found,) = check_truncations(TRUNCATED)
    assert (found.code, found.level) == ("table_truncated", Level.WARNING)
    place = "at 2023-11-14T22:13:20.500+00:00, segment 1700000000000, position 42"
    assert f"shop.orders ({place})" in found.message
    assert "position 99" in found.message
    assert "--set table=shop.orders --set at.us=1700000000500999" in found.remedy
    assert "`agent truncations acknowledge shop.orders shop.items`" in found.remedy
    assert list(check_truncations({})) == []


def test_a_running_agent_stays_ok_and_shows_it() -> None:
    (condition,) = conditions_of(Facts(findings=tuple(check_truncations(TRUNCATED))))
    assert (condition.code, condition.state) == ("table_truncated", State.WARNING)

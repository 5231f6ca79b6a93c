"""The findings of truncated and dropped tables, and their conditions in a running agent."""

from agent.check.truncations import check_drops, check_truncations
from agent.node.drops import Drop
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
    for name, each in TRUNCATED.items():
        assert f"--set table={name} --set at.us={each.at_ms}999" in found.remedy, "its own time"
    assert "`agent truncations acknowledge shop.orders shop.items`" in found.remedy
    assert list(check_truncations({})) == []


def test_a_running_agent_stays_ok_and_shows_it() -> None:
    (condition,) = conditions_of(Facts(findings=tuple(check_truncations(TRUNCATED))))
    assert (condition.code, condition.state) == ("table_truncated", State.WARNING)


DROPPED = {
    name: Drop(name, noticed_ms)
    for name, noticed_ms in (("shop.orders", 1_700_000_000_500), ("shop.items", 1_700_000_000_250))
}


def test_a_drop_has_a_remedy_for_a_table_that_is_gone_and_one_that_exists_again() -> None:
    (found,) = check_drops(DROPPED, ["shop.items"])
    assert (found.code, found.level) == ("table_dropped", Level.WARNING)
    assert "dropped, which has no event: shop.items, shop.orders." in found.message
    assert "--set table=shop.orders --set at.us=1700000000500999, for each" in found.remedy
    assert "delete the rows of the old shop.items;" in found.remedy
    assert "`agent truncations acknowledge shop.items shop.orders`" in found.remedy
    assert list(check_drops({}, ["shop.items"])) == []
    later = {**DROPPED, "shop.items": Drop("shop.items", 1_700_000_000_900)}
    (both,) = check_drops(later, [])
    assert "--set table=shop.items --set at.us=1700000000900999, for each" in both.remedy
    (again,) = check_drops(DROPPED, list(DROPPED))
    assert "at.us" not in again.remedy, "the new rows would go too"
    (condition,) = conditions_of(Facts(findings=(found,)))
    assert (condition.code, condition.state) == ("table_dropped", State.WARNING)

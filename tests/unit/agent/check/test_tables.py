"""Checks of published tables: their topics, the rights to read them, truncations and drops."""

import itertools
import uuid
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.check.probe import AgentProbe, NodeAnswer
from agent.check.publication import table_topic
from agent.check.tables import (
    check_drops,
    check_snapshot_rights,
    check_topic_names,
    check_truncations,
)
from agent.config.loader import AgentConfig, load_config
from agent.node.truncations import Drop, Truncation
from agent.status.conditions import conditions_of
from commitlog import Schema
from commitlog.masking import Rights, mask_problem
from sidecar.check.broker import BrokerAnswer
from sidecar.check.check import Finding, Level
from sidecar.errors import UnavailableError
from sidecar.health.condition import State
from tests.support.agents.agent_directory import AgentDir
from tests.support.agents.given_facts import facts_of
from tests.support.agents.minimal_configuration import minimal_configuration

LONGEST_KEYSPACE, LONGEST_TABLE = 48, 222
NAMES = st.from_regex(r"[a-b][a-b_]{0,2}", fullmatch=True)
TABLES = st.sets(st.tuples(NAMES, NAMES), min_size=1, max_size=6)
LENGTHS = st.tuples(st.integers(1, LONGEST_KEYSPACE), st.integers(1, LONGEST_TABLE))


@pytest.fixture(scope="module")
def configs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, AgentConfig]:
    return {each: config(tmp_path_factory.mktemp("agent"), each) for each in ".-"}


def config(folder: Path, delimiter: str) -> AgentConfig:
    settings = {
        "topic.delimiter": delimiter,
        "sink": "kafka",
        "kafka.producer.bootstrap.servers": "127.0.0.1:9",
    }
    return load_config([AgentDir(folder).configuration(settings)], [])


def findings(config: AgentConfig, tables: set[tuple[str, str]]) -> list[Finding]:
    """Findings of `agent check` while no broker answers."""
    statements = (
        f"CREATE TABLE {keyspace}.{table} (k int PRIMARY KEY) "
        f"WITH ID = {uuid.uuid5(uuid.NAMESPACE_DNS, f'{keyspace}.{table}')} AND cdc = true;"
        for keyspace, table in tables
    )
    node = NodeAnswer(schema=Schema.from_cql("\n".join(statements)))
    broker = BrokerAnswer(error=UnavailableError("No broker answers."))
    return list(check_topic_names(AgentProbe(config, lambda: node, lambda: broker)))


@given(TABLES)
def test_colliding_topics_are_reported(
    configs: dict[str, AgentConfig], tables: set[tuple[str, str]]
) -> None:
    names = {f"{keyspace}_{table}" for keyspace, table in tables}
    found = findings(configs["."], tables)
    assert [each.code for each in found] == ["topics_collide"] * (len(names) < len(tables))
    # The remedy resolves the collision.
    assert all("topic.delimiter=-" in each.remedy for each in found)
    assert findings(configs["-"], tables) == []


@given(LENGTHS)
def test_names_of_any_length_yield_valid_topics(
    configs: dict[str, AgentConfig], lengths: tuple[int, int]
) -> None:
    keyspace, table = ("n" * length for length in lengths)
    properties = configs["."].properties
    whole = f"{properties.topic_prefix}.{keyspace}.{table}"
    topic = table_topic(properties, f"{keyspace}.{table}")
    assert len(topic) <= 249
    found = findings(configs["."], {(keyspace, table)})
    if len(whole) <= 249:
        assert (topic, found) == (whole, [])
    else:
        assert topic.startswith(whole[:200])
        (finding,) = found
        assert (finding.level, finding.code) == (Level.WARNING, "topic_name_shortened")
        assert f"{topic} ({keyspace}.{table})" in finding.message


def test_long_names_yield_distinct_topics(configs: dict[str, AgentConfig]) -> None:
    long = "n" * (LONGEST_TABLE - 1)
    topics = {table_topic(configs["."].properties, f"{'k' * 48}.{long}{last}") for last in "abc"}
    assert len(topics) == 3


COPIED = ("shop.orders", "shop.cards")
PLACES = ("<table shop.orders>", "<keyspace shop>")


def snapshot_config(folder: Path, mode: str) -> AgentConfig:
    login = {"cassandra.username": "cdc", "cassandra.password": "secret"}
    return load_config([minimal_configuration(folder, {"snapshot.mode": mode, **login})])


def test_check_reports_every_table_that_snapshot_rejects(tmp_path: Path) -> None:
    """The test covers each combination of rights and masks."""
    initial = snapshot_config(tmp_path, "initial")
    places = [frozenset[str](), *(frozenset({place}) for place in PLACES)]
    masks: list[dict[str, tuple[str, ...]]] = [
        {},
        {"shop.orders": ("a", "b")},
        dict.fromkeys(COPIED, ("a",)),
    ]
    for readable, unmasked, masked in itertools.product(places, places, masks):
        rights = Rights(readable=readable, unmasked=unmasked)
        found = list(check_snapshot_rights(initial, rights, COPIED, masked))
        rejected = [
            table for table in COPIED if mask_problem(table, masked.get(table, ()), rights, "cdc")
        ]
        warned = [each for each in found if each.code == "snapshot_columns_masked"]
        assert [each.message.split(" ")[0] for each in warned] == rejected
        assert all(
            f'GRANT UNMASK ON {table} TO "cdc";' in each.remedy
            for table, each in zip(rejected, warned, strict=True)
        )


def test_masks_are_ignored_without_snapshots_or_authorization(tmp_path: Path) -> None:
    masked = {"shop.orders": ("a",)}
    assert not list(
        check_snapshot_rights(snapshot_config(tmp_path, "never"), Rights(), COPIED, masked)
    )
    assert not list(
        check_snapshot_rights(snapshot_config(tmp_path, "initial"), None, COPIED, masked)
    )


TRUNCATED = {
    "shop.orders": Truncation("7", 1_700_000_000_000, 42, 1_700_000_000_500),
    "shop.items": Truncation("8", 1_700_000_000_000, 99, 1_700_000_000_250),
}


def test_truncation_finding_contains_tables_positions_times_and_commands() -> None:
    (found,) = check_truncations(TRUNCATED)
    assert (found.code, found.level) == ("table_truncated", Level.WARNING)
    place = "at 2023-11-14T22:13:20.500+00:00, segment 1700000000000, position 42"
    assert f"shop.orders ({place})" in found.message
    assert "position 99" in found.message
    for name, each in TRUNCATED.items():
        assert f"--set table={name} --set at.us={each.at_ms}999" in found.remedy, "its own time"
    assert "`agent truncations acknowledge shop.orders shop.items`" in found.remedy
    assert list(check_truncations({})) == []


def test_truncation_is_a_warning_condition() -> None:
    (condition,) = conditions_of(facts_of(findings=tuple(check_truncations(TRUNCATED))))
    assert (condition.code, condition.state) == ("table_truncated", State.WARNING)


DROPPED = {
    name: Drop(name, noticed_ms)
    for name, noticed_ms in (("shop.orders", 1_700_000_000_500), ("shop.items", 1_700_000_000_250))
}


def test_drop_remedy_differs_for_missing_and_recreated_tables() -> None:
    (found,) = check_drops(DROPPED, ["shop.items"])
    assert (found.code, found.level) == ("table_dropped", Level.WARNING)
    assert "dropped, which sends no event: shop.items, shop.orders." in found.message
    assert "--set table=shop.orders --set at.us=1700000000500999, for each" in found.remedy
    assert "delete the rows of the old shop.items;" in found.remedy
    assert "`agent truncations acknowledge shop.items shop.orders`" in found.remedy
    assert list(check_drops({}, ["shop.items"])) == []
    later = {**DROPPED, "shop.items": Drop("shop.items", 1_700_000_000_900)}
    (both,) = check_drops(later, [])
    assert "--set table=shop.items --set at.us=1700000000900999, for each" in both.remedy
    (again,) = check_drops(DROPPED, list(DROPPED))
    assert "at.us" not in again.remedy, "the new rows would go too"
    (condition,) = conditions_of(facts_of(findings=(found,)))
    assert (condition.code, condition.state) == ("table_dropped", State.WARNING)

"""Topic names of any tables, from the schema alone."""

import uuid
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.check.probe import AgentProbe, NodeAnswer
from agent.check.topic_names import check_topic_names
from agent.config.loader import AgentConfig, load_config
from agent.config.topics import table_topic
from commitlog import Schema
from sidecar.check.broker import BrokerAnswer
from sidecar.check.finding import Finding, Level
from sidecar.errors import UnavailableError
from tests.support.agents.agent_directory import AgentDir

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
    """What `agent check` finds while no broker answers."""
    statements = (
        f"CREATE TABLE {keyspace}.{table} (k int PRIMARY KEY) "
        f"WITH ID = {uuid.uuid5(uuid.NAMESPACE_DNS, f'{keyspace}.{table}')} AND cdc = true;"
        for keyspace, table in tables
    )
    node = NodeAnswer(schema=Schema.from_cql("\n".join(statements)))
    broker = BrokerAnswer(error=UnavailableError("No broker answers."))
    return list(check_topic_names(AgentProbe(config, lambda: node, lambda: broker)))


@given(TABLES)
def test_a_topic_that_kafka_rejects_is_a_fault_before_the_start(
    configs: dict[str, AgentConfig], tables: set[tuple[str, str]]
) -> None:
    names = {f"{keyspace}_{table}" for keyspace, table in tables}
    found = findings(configs["."], tables)
    assert [each.code for each in found] == ["topics_collide"] * (len(names) < len(tables))
    # The remedy ends it.
    assert all("topic.delimiter=-" in each.remedy for each in found)
    assert findings(configs["-"], tables) == []


@given(LENGTHS)
def test_a_name_of_any_length_has_a_topic(
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


def test_the_topics_of_long_names_differ(configs: dict[str, AgentConfig]) -> None:
    long = "n" * (LONGEST_TABLE - 1)
    topics = {table_topic(configs["."].properties, f"{'k' * 48}.{long}{last}") for last in "abc"}
    assert len(topics) == 3

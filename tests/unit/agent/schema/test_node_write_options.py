"""When a node is asked for the options, and with which statement."""

from collections.abc import Mapping
from typing import Any

import pytest

from agent.check.unlogged import Reason, unlogged_writes
from agent.node.connection import NodeAddress, NodeConnection, NodeFacts
from agent.schema.node_write_options import NodeWriteOptions, read_write_options
from sidecar.errors import UnavailableError

STATEMENT = "CREATE TABLE ks.t (k int PRIMARY KEY) WITH cdc = true AND transactional_mode = '{}';"


class Node(NodeConnection):
    """Answers DESCRIBE with one table, and counts the questions."""

    def __init__(self) -> None:
        super().__init__(NodeAddress(["127.0.0.1"]))
        self.mode = "off"
        self.queries: list[str] = []
        self.is_failing = False

    def rows(self, query: str) -> list[Mapping[str, Any]]:
        self.queries.append(query)
        if self.is_failing:
            raise UnavailableError("The request timed out.")
        if query == "DESCRIBE SCHEMA":
            return [{"create_statement": STATEMENT.format(self.mode)}]
        return [{"keyspace_name": "ks", "durable_writes": False, "table_name": "t"}]


def facts(release: str) -> NodeFacts:
    return NodeFacts("node-1", "lab", release)


@pytest.mark.parametrize("release", ["6.0-alpha2", "6.0.0", "7.1.2"])
def test_a_node_with_transactions_describes_its_schema(release: str) -> None:
    node = Node()
    assert read_write_options(node, facts(release)).tables == {
        "ks.t": {"transactional_mode": "off"}
    }
    assert node.queries == ["DESCRIBE SCHEMA"]


@pytest.mark.parametrize("release", ["3.11.19", "4.1.10", "5.0.9"])
def test_an_older_node_has_the_option_in_its_rows(release: str) -> None:
    node = Node()
    options = read_write_options(node, facts(release))
    assert options.keyspaces == {"ks": {"durable_writes": "false"}}
    assert options.tables == {"ks.t": {}}
    assert [query.rpartition(" ")[2] for query in node.queries] == [
        "system_schema.keyspaces",
        "system_schema.tables",
    ]


def test_a_node_is_asked_again_with_a_new_version_and_after_five_minutes() -> None:
    now_s = 0.0
    node = Node()
    known = NodeWriteOptions(node, clock=lambda: now_s)

    def mode(version: str, release: str = "6.0.0") -> str:
        return known.current(facts(release), version).tables["ks.t"]["transactional_mode"]

    assert mode("1") == "off"
    node.mode = "full"
    assert (mode("1"), mode("2")) == ("off", "full")
    node.mode = "mixed_reads"
    now_s = 299.0
    assert mode("2") == "full"
    now_s = 300.0
    assert (mode("2"), len(node.queries)) == ("mixed_reads", 3)
    node.mode = "off"
    assert mode("2", "6.0.1") == "off"


def test_an_error_is_kept_until_the_next_question() -> None:
    node = Node()
    node.is_failing = True
    known = NodeWriteOptions(node)
    assert known.current(facts("6.0.0"), "1").error == "The request timed out."
    node.is_failing = False
    assert known.current(facts("6.0.0"), "1").error == ""


def test_the_last_answer_stands_while_the_node_does_not_answer() -> None:
    node = Node()
    node.mode = "full"
    known = NodeWriteOptions(node)
    known.current(facts("6.0.0"), "1")
    node.is_failing = True
    options = known.current(facts("6.0.0"), "2")
    assert options.error == "The request timed out."
    unlogged = unlogged_writes(options, ["ks.t"])
    assert [each.reason for each in unlogged.tables] == [Reason.TRANSACTIONAL_MODE]
    assert unlogged.unknown == "The request timed out."

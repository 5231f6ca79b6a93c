"""Write options in CQL texts, and how the agent reads them from a node."""

import tracemalloc
from collections.abc import Mapping
from typing import Any

import pytest

from agent.check.unlogged import Reason, unlogged_writes
from agent.node.connection import NodeAddress, NodeConnection, NodeFacts
from agent.schema.write_options import (
    _TOKEN,
    NodeWriteOptions,
    options_from_cql,
    options_from_rows,
    read_write_options,
)
from sidecar.errors import UnavailableError

# Printed by DESCRIBE SCHEMA of Cassandra 6.0-alpha2; some options are left out.
DESCRIBED = """
CREATE KEYSPACE a WITH replication = {'class': 'SimpleStrategy', 'replication_factor': '1'}
  AND durable_writes = true  AND fast_path = 'simple';
CREATE TABLE a.later (
    k int PRIMARY KEY,
    v text
) WITH additional_write_policy = '99p'
    AND cdc = true
    AND comment = ''
    AND read_repair = 'BLOCKING'
    AND transactional_mode = 'off'
    AND transactional_migration_from = 'full'
    AND speculative_retry = '99p';
CREATE INDEX i ON a.later (v);
CREATE KEYSPACE nd WITH replication = {'class': 'SimpleStrategy', 'replication_factor': '1'}
  AND durable_writes = false;
"""


def test_write_options_are_parsed_from_described_schema() -> None:
    options = options_from_cql(DESCRIBED)
    assert options.keyspaces == {"a": {"durable_writes": "true"}, "nd": {"durable_writes": "false"}}
    assert options.tables == {
        "a.later": {"transactional_mode": "off", "transactional_migration_from": "full"}
    }
    assert options.error == ""


def test_texts_and_names_are_not_parsed_as_options() -> None:
    options = options_from_cql(
        """
        -- CREATE TABLE a.gone (k int) WITH transactional_mode = 'full';
        /* ALTER; CREATE TABLE a.gone2 (k int PRIMARY KEY) WITH transactional_mode = 'full'; */
        create table if not exists "A"."t""x" (k int PRIMARY KEY, transactional_mode text)
            with comment = 'it''s transactional_mode = ''full''; durable_writes = false'
            and TRANSACTIONAL_MODE='MIXED_READS';
        CREATE FUNCTION a.f (i int) CALLED ON NULL INPUT RETURNS int LANGUAGE java
            AS $$ String transactional_mode = "full"; return i; $$;
        ALTER TABLE a.u WITH transactional_mode = 'full';
        """
    )
    assert options.tables == {'A.t"x': {"transactional_mode": "mixed_reads"}}
    assert options.keyspaces == {}


def test_replication_type_of_tracked_keyspace_is_parsed() -> None:
    options = options_from_cql(
        "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy'} "
        "AND replication_type='tracked';"
    )
    assert options.keyspaces == {"ks": {"replication_type": "tracked"}}


def test_compact_table_commented_out_by_describe_is_parsed() -> None:
    options = options_from_cql(
        """
        CREATE KEYSPACE k WITH durable_writes = true;
        /* CREATE TABLE k.gone (p int PRIMARY KEY) WITH transactional_mode = 'full'; */
        /*
        Warning: Table k.b omitted because it has constructs not compatible with CQL (was created
        via legacy API).
        Approximate structure, for reference:
        (this should not be used to reproduce this schema)

        CREATE TABLE k.b (p int, c int, v int, PRIMARY KEY (p, c)) WITH COMPACT STORAGE
            AND transactional_mode = 'full';
        */
        CREATE TABLE k.c (p int PRIMARY KEY) WITH transactional_mode = 'off';
        """
    )
    assert options.tables == {
        "k.b": {"transactional_mode": "full"},
        "k.c": {"transactional_mode": "off"},
    }


def test_use_statement_qualifies_table_names() -> None:
    options = options_from_cql(
        """USE "K"; CREATE TYPE a.u (use int);
        CREATE TABLE t (p int PRIMARY KEY) WITH transactional_mode = 'full';
        use l;
        CREATE TABLE t (use int PRIMARY KEY);"""
    )
    assert options.tables == {"K.t": {"transactional_mode": "full"}, "l.t": {}}


def test_options_are_read_from_rows_of_older_releases() -> None:
    keyspaces = [
        {"keyspace_name": "ks", "durable_writes": True},
        {"keyspace_name": "nd", "durable_writes": False},
    ]
    options = options_from_rows(keyspaces, [{"keyspace_name": "nd", "table_name": "t"}])
    assert options.keyspaces == {
        "ks": {"durable_writes": "true"},
        "nd": {"durable_writes": "false"},
    }
    assert options.tables == {"nd.t": {}}


@pytest.mark.parametrize(
    "text",
    ["'{}'", '"{}"', "/*{}*/", "$${}$$", "--{}", "{}"],
    ids=["text", "name", "comment", "function", "line", "bare"],
)
@pytest.mark.parametrize("part", ["a", "''", '""', " ", ";", "(", "*"])
def test_long_text_is_tokenized_in_bounded_memory(text: str, part: str) -> None:
    """A user of the node may write megabytes into a comment. A backtracking matcher would use
    100 bytes per letter and hold the interpreter between two tokens."""
    statement = (
        f"CREATE KEYSPACE a WITH durable_writes = false AND x = {text.format(part * 50_000)}"
    )
    tracemalloc.start()
    options_from_cql(statement)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 2 * len(statement) + 100_000
    found = [*_TOKEN.finditer(statement)]
    assert sum(len(token[0]) for token in found) >= len(statement) - 10


STATEMENT = "CREATE TABLE ks.t (k int PRIMARY KEY) WITH cdc = true AND transactional_mode = '{}';"


class Node(NodeConnection):
    """Answer DESCRIBE with one table, and record the queries."""

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
def test_options_of_newer_nodes_are_read_by_describe(release: str) -> None:
    node = Node()
    assert read_write_options(node, facts(release)).tables == {
        "ks.t": {"transactional_mode": "off"}
    }
    assert node.queries == ["DESCRIBE SCHEMA"]


@pytest.mark.parametrize("release", ["3.11.19", "4.1.10", "5.0.9"])
def test_options_of_older_nodes_are_read_from_schema_tables(release: str) -> None:
    node = Node()
    options = read_write_options(node, facts(release))
    assert options.keyspaces == {"ks": {"durable_writes": "false"}}
    assert options.tables == {"ks.t": {}}
    assert [query.rpartition(" ")[2] for query in node.queries] == [
        "system_schema.keyspaces",
        "system_schema.tables",
    ]


def test_options_refresh_on_new_version_or_after_five_minutes() -> None:
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


def test_options_error_clears_at_next_successful_query() -> None:
    node = Node()
    node.is_failing = True
    known = NodeWriteOptions(node)
    assert known.current(facts("6.0.0"), "1").error == "The request timed out."
    node.is_failing = False
    assert known.current(facts("6.0.0"), "1").error == ""


def test_last_options_apply_while_node_is_unavailable() -> None:
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

"""Options that decide whether a change reaches the commit log, from CQL text and from rows."""

import tracemalloc

import pytest

from agent.schema.write_options import _TOKEN, options_from_cql, options_from_rows

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


def test_options_of_the_statements_of_a_node() -> None:
    options = options_from_cql(DESCRIBED)
    assert options.keyspaces == {"a": {"durable_writes": "true"}, "nd": {"durable_writes": "false"}}
    assert options.tables == {
        "a.later": {"transactional_mode": "off", "transactional_migration_from": "full"}
    }
    assert options.error == ""


def test_texts_and_names_are_no_options() -> None:
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


def test_a_tracked_keyspace() -> None:
    options = options_from_cql(
        "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy'} "
        "AND replication_type='tracked';"
    )
    assert options.keyspaces == {"ks": {"replication_type": "tracked"}}


def test_a_compact_table_which_describe_comments_out() -> None:
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


def test_use_completes_the_names_of_tables() -> None:
    options = options_from_cql(
        """USE "K"; CREATE TYPE a.u (use int);
        CREATE TABLE t (p int PRIMARY KEY) WITH transactional_mode = 'full';
        use l;
        CREATE TABLE t (use int PRIMARY KEY);"""
    )
    assert options.tables == {"K.t": {"transactional_mode": "full"}, "l.t": {}}


def test_rows_of_older_releases() -> None:
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
def test_a_long_text_is_few_tokens_and_takes_no_memory(text: str, part: str) -> None:
    """A user of the node may write megabytes into a comment. A matcher that may come back would
    take 100 bytes for each letter, and hold the interpreter between two tokens."""
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

"""A real node whose schema changes during writes: the log's schema against the node's."""

import json
from pathlib import Path
from typing import Any

import pytest

from agent.node.connection import NodeAddress, NodeConnection
from agent.schema.node_schema import NodeSchema
from commitlog import Schema
from tests.support.segments.schema_stream import NOTHING, dumped
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings
from tests.support.workloads.scenario import create_keyspace

pytestmark = pytest.mark.servers

BEFORE = (
    create_keyspace("churn"),
    "CREATE TYPE churn.u (a int)",
    "CREATE TABLE churn.t (p int, c int, v ascii, f frozen<u>, PRIMARY KEY (p, c)) WITH cdc = true",
    "CREATE TABLE churn.gone (p int PRIMARY KEY, w text) WITH cdc = true",
    "INSERT INTO churn.t (p, c, v, f) VALUES (1, 1, '5', {a: 1})",
    "INSERT INTO churn.gone (p, w) VALUES (1, 'first')",
    "ALTER TABLE churn.t DROP v",
    "INSERT INTO churn.t (p, c) VALUES (1, 2)",
)
AFTER = (
    "ALTER TABLE churn.t ADD v text",
    "INSERT INTO churn.t (p, c, v) VALUES (1, 3, 'ü')",
    "ALTER TYPE churn.u ADD b text",
    "INSERT INTO churn.t (p, c, f) VALUES (1, 4, {a: 1, b: 'grown'})",
    "ALTER TABLE churn.t RENAME c TO cc",
    "UPDATE churn.t SET v = '8' WHERE p = 1 AND cc = 5",
    "DROP TABLE churn.gone",
    "CREATE TABLE churn.gone (p int PRIMARY KEY, w bigint) WITH cdc = true",
    "INSERT INTO churn.gone (p, w) VALUES (1, 9)",
    "ALTER TABLE churn.t WITH cdc = false",
    "BEGIN BATCH INSERT INTO churn.t (p, cc, v) VALUES (1, 6, 'x'); "
    "INSERT INTO churn.gone (p, w) VALUES (1, 10); APPLY BATCH",
)
WRITTEN = {
    ("t", "v"): ["35", "c3bc", "38", "78"],
    ("gone", "w"): ["6669727374", "0000000000000009", "000000000000000a"],
}


def told(schema: Schema) -> dict[str, Any]:
    """Definition of the keyspace's existing tables, by id."""
    found = {}
    for table in json.loads(schema.to_stored())["tables"]:
        if table["keyspace"] == "churn":
            columns = {
                kind: sorted(
                    (column["name"], column["class"])
                    for column in table[kind]
                    if column["dropped_at_us"] is None
                )
                for kind in ("partition_key", "clustering", "static", "regular")
            }
            found[table["id"]] = {**columns, "name": table["name"], "cdc": table["cdc"]}
    return found


def test_log_schema_equals_node_schema(tmp_path: Path) -> None:
    settings = NodeSettings(commitlog_sync_period_ms=100)
    with CassandraNode(tmp_path / "node", settings=settings) as node:
        link = NodeConnection(NodeAddress([node.address.host], node.address.cql_port))
        try:
            for statement in BEFORE:
                node.execute(statement)
            between = NodeSchema(link).fetch().schema
            for statement in AFTER:
                node.execute(statement)
            answer = NodeSchema(link).fetch().schema
        finally:
            link.close()
        node.close_segment()
        segments = [each.path for each in node.cdc_segments() if each.is_completed]
        # Without the node; with its answer from in between; long after its last answer.
        for known in (NOTHING, between, answer, answer.merged(between)):
            read = dumped(segments, known)
            values: dict[tuple[str, str], list[str]] = {key: [] for key in WRITTEN}
            for line in read.lines:
                for item in line["items"] if line["ks"] == "churn" else ():
                    for cell in item["cells"]:
                        if (line["table"], cell["col"]) in values:
                            values[line["table"], cell["col"]].append(cell["val"])
            assert values == WRITTEN
            now = told(answer)
            assert {id_: told(read.schema)[id_] for id_ in now} == now
            assert told(read.schema.merged(answer)) == told(read.schema)

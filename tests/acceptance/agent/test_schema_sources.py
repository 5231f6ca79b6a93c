"""The schema file, and the schemas that are kept for the next start."""

import gzip
from pathlib import Path

import orjson
import pytest

from agent.schema.history import SchemaHistory
from agent.schema.schema_file import SchemaFile
from agent.schema.source import KnownSchema, NodeIdentity
from commitlog import Schema
from sidecar.errors import ConfigError, UnavailableError
from tests.support.segments.schema_names import names

NODE = NodeIdentity("node-1", "lab")
TABLE = "CREATE TABLE ks.{} (k text PRIMARY KEY) WITH ID = 5a1c395e-b41f-11e5-9f22-{:012x};\n"


def rows_of(number: int) -> bytes:
    """`system_schema` of a node with the table `t<number>`."""
    return orjson.dumps(
        {
            "tables": [
                {
                    "keyspace_name": "ks",
                    "table_name": f"t{number}",
                    "id": f"5a1c395e-b41f-11e5-9f22-{number:012x}",
                    "cdc": True,
                    "flags": ["compound"],
                }
            ],
            "columns": [
                {
                    "keyspace_name": "ks",
                    "table_name": f"t{number}",
                    "column_name": "k",
                    "type": "text",
                    "kind": "partition_key",
                    "position": 0,
                    "clustering_order": "none",
                }
            ],
        }
    )


def test_a_schema_file_is_read_again_when_it_changes(tmp_path: Path) -> None:
    path = tmp_path / "schema.cql"
    path.write_text(TABLE.format("a", 1))
    source = SchemaFile(path, NODE)
    first = source.fetch()
    assert names(first.schema) == {"a"}
    assert first.identity == NODE
    assert source.fetch().schema is first.schema
    path.write_text(TABLE.format("a", 1) + TABLE.format("b", 2))
    assert names(source.fetch().schema) == {"a", "b"}


def test_a_schema_file_has_the_write_options_of_its_statements(tmp_path: Path) -> None:
    path = tmp_path / "schema.cql"
    keyspace = "CREATE KEYSPACE ks WITH durable_writes = {};\n"
    path.write_text(keyspace.format("true") + TABLE.format("a", 1))
    source = SchemaFile(path, NODE)
    first = source.fetch().write_options
    assert first is not None
    assert first.keyspaces == {"ks": {"durable_writes": "true"}}
    assert first.tables == {"ks.a": {}}
    path.write_text(keyspace.format("false") + TABLE.format("a", 1))
    changed = source.fetch().write_options
    assert changed is not None
    assert changed.keyspaces == {"ks": {"durable_writes": "false"}}


def test_a_bad_schema_file_ends_a_start_and_is_waited_out_later(tmp_path: Path) -> None:
    path = tmp_path / "schema.cql"
    source = SchemaFile(path, NODE)
    with pytest.raises(ConfigError, match="No such file"):
        source.fetch()
    path.write_text("CREATE TABLE ks.t (\n  k text,\n  oops\n);")
    with pytest.raises(ConfigError, match=r"schema\.cql.*line"):
        source.fetch()
    path.write_text(TABLE.format("a", 1))
    source.fetch()
    path.write_bytes(b"\xff\xfe broken")
    with pytest.raises(UnavailableError, match="UTF-8"):
        source.fetch()


def known(*numbers: int, node: NodeIdentity = NODE) -> KnownSchema:
    schema = Schema.from_system_rows(b"{}")
    for number in numbers:
        schema = schema.merged(Schema.from_system_rows(rows_of(number), seen_at_us=number))
    return KnownSchema(schema, node)


def test_history_restores_saved_tables_after_a_restart(tmp_path: Path) -> None:
    history = SchemaHistory(tmp_path)
    assert history.load() is None
    for numbers in ((1,), (1, 2)):
        history.save(known(*numbers))
    kept = SchemaHistory(tmp_path).load()
    assert kept == known(1, 2)


def test_tables_that_are_gone_are_bounded() -> None:
    schema = known(*range(1, 10)).schema.bounded(known(2, 3).schema, 3)
    assert names(schema) == {"t2", "t3", "t7", "t8", "t9"}


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"not gzip", id="no gzip"),
        pytest.param(gzip.compress(b"{}")[:-4], id="cut off"),
        pytest.param(gzip.compress(b"[1"), id="no JSON"),
        pytest.param(gzip.compress(b"{}"), id="members missing"),
        pytest.param(
            gzip.compress(b'{"node_id":"n","cluster_name":"c","schema":[]}'), id="a list as schema"
        ),
        pytest.param(
            gzip.compress(b'{"node_id":"n","cluster_name":"c","schema":{"tables":3,"types":[]}}'),
            id="a number as tables",
        ),
    ],
)
def test_a_damaged_history_is_no_history(tmp_path: Path, content: bytes) -> None:
    history = SchemaHistory(tmp_path)
    history.path.write_bytes(content)
    assert history.load() is None
    history.save(known(1))
    assert SchemaHistory(tmp_path).load() is not None


def test_a_directory_that_cannot_be_written_is_no_fault(tmp_path: Path) -> None:
    history = SchemaHistory(tmp_path / "none")
    history.save(known(1))
    assert history.load() is None

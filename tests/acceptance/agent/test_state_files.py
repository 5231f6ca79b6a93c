"""State files: format version, topic prefix, schemas stored for the next start; and the schema
file."""

import gzip
import hashlib
from pathlib import Path

import orjson
import pytest

from agent.schema.history import SchemaHistory
from agent.schema.source import KnownSchema, NodeIdentity, SchemaFile
from commitlog import Schema
from sidecar.errors import ConfigError, OffsetStoreError, UnavailableError
from sidecar.offsets.properties_store import FORMAT_VERSION, PropertiesStore, encode
from tests.support.agents.agent_directory import AgentDir
from tests.support.agents.agent_main import agent
from tests.support.segments.schema_names import names

NAME = "segment_offset.properties"
VALUES = {"node.id": "node-1", "CommitLog-7-1.log": "COMPLETED"}


def of_version(version: str) -> bytes:
    """The file as a release with that format would write it."""
    body = encode(VALUES).split(b"\n", 1)[1]
    body = body.replace(
        f"#format.version={FORMAT_VERSION}".encode(), f"#format.version={version}".encode()
    )
    return b"#sha256=" + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def test_state_file_without_a_version_is_rejected(tmp_path: Path) -> None:
    body = encode(VALUES).split(b"\n", 1)[1].replace(b"#format.version=1\n", b"")
    checksum = hashlib.sha256(body).hexdigest().encode()
    (tmp_path / NAME).write_bytes(b"#sha256=" + checksum + b"\n" + body)
    with pytest.raises(OffsetStoreError, match=r"format version none.*move the file away"):
        PropertiesStore(tmp_path, NAME).load()


def test_newer_state_file_is_rejected_despite_a_previous_copy(tmp_path: Path) -> None:
    store = PropertiesStore(tmp_path, NAME)
    store.save(VALUES)
    store.save(VALUES)
    store.path.write_bytes(of_version("2"))
    with pytest.raises(OffsetStoreError, match="format version 2; this release reads 1"):
        PropertiesStore(tmp_path, NAME).load()


def test_header_lookalike_entries_are_values(tmp_path: Path) -> None:
    store = PropertiesStore(tmp_path, NAME, "shop")
    store.save({"a": "\n#topic.prefix=other", "#topic.prefix": "third"})
    assert PropertiesStore(tmp_path, NAME, "shop").load().topic_prefix == "shop"


def test_previous_copy_with_another_prefix_is_rejected(tmp_path: Path) -> None:
    store = PropertiesStore(tmp_path, NAME, "shop")
    store.save(VALUES)
    store.save(VALUES)
    store.path.write_bytes(b"torn")
    with pytest.raises(ConfigError, match="belong to `shop`"):
        PropertiesStore(tmp_path, NAME, "other").load()


def test_changed_prefix_is_rejected_with_two_remedies(agent_dir: AgentDir) -> None:
    PropertiesStore(agent_dir.offsets, NAME, "demo").save(VALUES)
    path = agent_dir.configuration({"topic.prefix": "other"})
    for command in (("config", "check"), ("run",)):
        done = agent(*command, "--config", path)
        assert done.exit_code == 2
        for part in ("`other`", "`demo`", "Set it to", "accept-prefix", "snapshot start"):
            assert part in done.errors
    accepted = agent("offsets", "accept-prefix", "--config", path)
    assert accepted.exit_code == 0
    assert "instead of `demo`" in accepted.output
    assert agent("config", "check", "--config", path).exit_code == 0
    assert '"COMPLETED"' in agent("offsets", "show", "--json", "--config", path).output
    assert agent("config", "check", "--config", agent_dir.configuration()).exit_code == 2


def test_offsets_reset_accepts_a_changed_prefix(agent_dir: AgentDir) -> None:
    PropertiesStore(agent_dir.offsets, NAME, "demo").save(VALUES)
    path = agent_dir.configuration({"topic.prefix": "other"})
    assert agent("offsets", "reset", "--config", path).exit_code == 0
    assert agent("config", "check", "--config", path).exit_code == 0


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


def test_changed_schema_file_is_reloaded(tmp_path: Path) -> None:
    path = tmp_path / "schema.cql"
    path.write_text(TABLE.format("a", 1))
    source = SchemaFile(path, NODE)
    first = source.fetch()
    assert (names(first.schema), first.identity) == ({"a"}, NODE)
    assert source.fetch().schema is first.schema
    path.write_text(TABLE.format("a", 1) + TABLE.format("b", 2))
    assert names(source.fetch().schema) == {"a", "b"}


def test_schema_file_provides_write_options(tmp_path: Path) -> None:
    path = tmp_path / "schema.cql"
    keyspace = "CREATE KEYSPACE ks WITH durable_writes = {};\n"
    path.write_text(keyspace.format("true") + TABLE.format("a", 1))
    source = SchemaFile(path, NODE)
    first = source.fetch().write_options
    assert first is not None
    assert (first.keyspaces, first.tables) == ({"ks": {"durable_writes": "true"}}, {"ks.a": {}})
    path.write_text(keyspace.format("false") + TABLE.format("a", 1))
    changed = source.fetch().write_options
    assert changed is not None
    assert changed.keyspaces == {"ks": {"durable_writes": "false"}}


def test_invalid_schema_file_fails_only_the_first_read(tmp_path: Path) -> None:
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
    assert SchemaHistory(tmp_path).load() == known(1, 2)


def test_number_of_dropped_tables_is_bounded() -> None:
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
def test_damaged_schema_history_is_ignored(tmp_path: Path, content: bytes) -> None:
    history = SchemaHistory(tmp_path)
    history.path.write_bytes(content)
    assert history.load() is None
    history.save(known(1))
    assert SchemaHistory(tmp_path).load() is not None


def test_unwritable_history_directory_is_ignored(tmp_path: Path) -> None:
    history = SchemaHistory(tmp_path / "none")
    history.save(known(1))
    assert history.load() is None

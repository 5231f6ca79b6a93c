"""Schemas of source tables, in every format."""

import gzip
import json
from pathlib import Path

import pytest

import commitlog
from sidecar.errors import ConfigError
from spark_jobs.reconcile.source_table import read_schema

ID = "5a1c395e-b41f-11e5-9f22-ba0be0483c18"
TABLE = """CREATE TABLE shop.orders (id int PRIMARY KEY, l list<int>, f frozen<list<int>>, n text)
    WITH ID = 5a1c395e-b41f-11e5-9f22-ba0be0483c18 AND cdc = true;
    ALTER TABLE shop.orders DROP n USING TIMESTAMP 7;"""


def test_schemas_are_read_in_every_format(tmp_path: Path) -> None:
    (tmp_path / "text").write_text(TABLE)
    stored = commitlog.Schema.from_cql(TABLE).to_stored()
    (tmp_path / "stored").write_bytes(stored)
    history = json.dumps({"node_id": "n", "schema": json.loads(stored)}).encode()
    (tmp_path / "history.json.gz").write_bytes(gzip.compress(history))
    for name in ("text", "stored", "history.json.gz"):
        table = read_schema(tmp_path / name).table("shop.orders")
        assert table.columns == {"l", "f"}
        assert table.dropped == {"n": 7}
        assert not table.has_counters


@pytest.mark.parametrize("is_older_first", [True, False])
@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("ffffffff-b41f-11e5-9f22-ba0be0483c18", "00000000-b41f-11e9-9f22-ba0be0483c18"),
        ("ffffffff-b41f-11e5-9f22-ba0be0483c18", "1b255f4d-ef25-40a6-0000-000000000004"),
        ("1b255f4d-ef25-40a6-0000-0000000000ff", "1b255f4d-ef25-40a6-0000-000000000100"),
    ],
    ids=["time-based", "after an upgrade to 6.0", "epoch-based"],
)
def test_newest_of_tables_with_one_name_counts(
    tmp_path: Path, older: str, newer: str, is_older_first: bool
) -> None:
    """A schema may contain dropped tables. Ids do not sort by their times."""
    texts = [TABLE.replace(ID, table_id) for table_id in (older, newer)]
    path = tmp_path / "schema.cql"
    path.write_text("".join(texts if is_older_first else texts[::-1]))
    source = read_schema(path)
    assert {table.id for table in source.tables} == {older, newer}
    assert source.table("shop.orders").id == newer


def test_schema_rows_of_node_are_read(tmp_path: Path) -> None:
    place = {"keyspace_name": "shop", "table_name": "hits"}
    column = {**place, "position": -1, "clustering_order": "none"}
    rows = {
        "tables": [{**place, "id": ID, "cdc": True, "flags": ["compound", "counter"]}],
        "columns": [
            {**column, "column_name": "k", "type": "text", "kind": "partition_key", "position": 0},
            {**column, "column_name": "n", "type": "counter", "kind": "regular"},
        ],
    }
    path = tmp_path / "rows.json"
    path.write_text(json.dumps(rows))
    table = read_schema(path).table("shop.hits")
    assert (table.id, table.has_counters, set(table.columns)) == (ID, True, {"n"})


@pytest.mark.parametrize("content", [b"CREATE TABLE", b"{", b"\x1f\x8b", b"\xff"])
def test_invalid_schema_is_an_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "schema"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=f"Cannot read the schema from {path}: "):
        read_schema(path)
    with pytest.raises(ConfigError, match="Cannot read the schema from "):
        read_schema(tmp_path / "missing")

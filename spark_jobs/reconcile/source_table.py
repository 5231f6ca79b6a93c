"""Reads the source tables from a description of their schema."""

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import commitlog
from commitlog import SchemaError
from sidecar.errors import ConfigError

_EPOCH_BASED = 0x1B255F4D_EF25_40A6
"""First half of the ids of Cassandra 6.0 (`TableId.MAGIC`). The second half is the epoch before the
table was created. Up to 5.0, ids are time-based."""


@dataclass(frozen=True, slots=True)
class SourceTable:
    """One table.

    `key` contains the columns of the primary key, in order. `columns` contains the current regular
    and static columns. `dropped` maps columns to the time of their latest drop, in microseconds.
    """

    id: str
    keyspace: str
    name: str
    key: tuple[str, ...]
    has_counters: bool
    has_statics: bool
    columns: frozenset[str]
    dropped: Mapping[str, int]

    @property
    def full_name(self) -> str:
        return f"{self.keyspace}.{self.name}"


@dataclass(frozen=True, slots=True)
class SourceSchema:
    path: Path
    schema: commitlog.Schema
    tables: tuple[SourceTable, ...]
    """Tables with the same name are ordered from the oldest to the newest."""

    def table(self, full_name: str) -> SourceTable:
        """The newest table with this name (`keyspace.table`). Raises `ConfigError`."""
        found = [table for table in self.tables if table.full_name == full_name]
        if not found:
            known = ", ".join(sorted({table.full_name for table in self.tables})) or "none"
            raise ConfigError(f"{self.path} has no table {full_name}. Its tables are: {known}.")
        return found[-1]


def read_schema(path: Path) -> SourceSchema:
    """Read a description of tables; its content determines the format.

    Formats are the output of `DESCRIBE … WITH INTERNALS`, the rows of `system_schema` as JSON, and
    the agent's `schema_history.json.gz`. Raises `ConfigError`.
    """
    try:
        content = path.read_bytes()
        if content.startswith(b"\x1f\x8b"):
            content = gzip.decompress(content)
        schema = _parse(content)
    except (OSError, EOFError, SchemaError, ValueError) as error:
        raise ConfigError(f"Cannot read the schema from {path}: {error}") from error
    return _describe(path, schema)


def stored_table(schema: SourceSchema, table: SourceTable) -> str:
    """The description of one table as text, for `from_stored_table`."""
    stored = json.loads(schema.schema.to_stored())
    stored["tables"] = [each for each in stored["tables"] if each["id"] == table.id]
    return json.dumps(stored)


def from_stored_table(text: str, path: Path) -> SourceSchema:
    """Parse the description of one table. `path` is the place of the text."""
    return _describe(path, commitlog.Schema.from_stored(text.encode()))


def _describe(path: Path, schema: commitlog.Schema) -> SourceSchema:
    stored = json.loads(schema.to_stored())["tables"]
    by_age = sorted((each for each in stored if not each["is_view"]), key=_age)
    return SourceSchema(path, schema, tuple(map(_table, by_age)))


def _parse(content: bytes) -> commitlog.Schema:
    if not content.lstrip().startswith(b"{"):
        return commitlog.Schema.from_cql(content.decode("utf-8"))
    described = json.loads(content)
    if "columns" in described:
        return commitlog.Schema.from_system_rows(content)
    return commitlog.Schema.from_stored(json.dumps(described.get("schema", described)).encode())


def _age(stored: Mapping[str, Any]) -> tuple[int, int, int, str]:
    """A sort key: when a table was described, then when it was created, as far as its id shows."""
    table_id = UUID(stored["id"])
    high, low = divmod(table_id.int, 1 << 64)
    if high == _EPOCH_BASED:
        # After an upgrade, the tables of 5.0 and earlier are older than these tables.
        generation, created_at = 1, low
    else:
        generation, created_at = 0, table_id.time if table_id.version == 1 else 0
    return stored["as_of_us"], generation, created_at, stored["id"]


def _table(stored: Mapping[str, Any]) -> SourceTable:
    columns = [*stored["static"], *stored["regular"]]
    return SourceTable(
        id=stored["id"],
        keyspace=stored["keyspace"],
        name=stored["name"],
        key=tuple(each["name"] for each in (*stored["partition_key"], *stored["clustering"])),
        has_counters=stored["counter"],
        has_statics=any(column["dropped_at_us"] is None for column in stored["static"]),
        columns=frozenset(each["name"] for each in columns if each["dropped_at_us"] is None),
        dropped={
            column["name"]: max(column["drops_us"]) for column in columns if column["drops_us"]
        },
    )

"""The columns of a table with their types, for statements."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import commitlog
from sidecar.errors import ConfigError
from spark_jobs.rebuild.cql_type import CqlType, parse_class


@dataclass(frozen=True, slots=True)
class TableLayout:
    """The current columns of a table, each kind in the order of the schema."""

    keyspace: str
    name: str
    partition_key: Mapping[str, CqlType]
    clustering: Mapping[str, CqlType]
    static: Mapping[str, CqlType]
    regular: Mapping[str, CqlType]

    def column(self, name: str) -> CqlType:
        """The type of a static or regular column."""
        return self.regular[name] if name in self.regular else self.static[name]


def read_layout(schema: commitlog.Schema, table_id: str) -> TableLayout:
    """The layout of a table. Its types may be unknown to CQL."""
    stored = _stored(schema, table_id)
    return TableLayout(
        stored["keyspace"],
        stored["name"],
        *(_types(stored[kind]) for kind in ("partition_key", "clustering", "static", "regular")),
    )


def table_layout(schema: commitlog.Schema, table_id: str) -> TableLayout:
    """The layout of a table. Raises `ConfigError` for a table that statements cannot write."""
    layout = read_layout(schema, table_id)
    full_name = f"{layout.keyspace}.{layout.name}"
    if _stored(schema, table_id)["counter"]:
        raise ConfigError(
            f"format=cql: {full_name} is a counter table, and CQL cannot set a counter to a value "
            "or give it a write time. Choose `format=parquet`, `delta` or `iceberg`."
        )
    for columns in (layout.partition_key, layout.clustering, layout.static, layout.regular):
        for name, of in columns.items():
            if unknown := _without_literals(of):
                raise ConfigError(
                    f"format=cql: {full_name}: the column {name} has the type {unknown}, for which "
                    "CQL has no literals. Choose `format=parquet`, `delta` or `iceberg`."
                )
    return layout


def _stored(schema: commitlog.Schema, table_id: str) -> dict[str, Any]:
    tables: list[dict[str, Any]] = json.loads(schema.to_stored())["tables"]
    (stored,) = (table for table in tables if table["id"] == table_id)
    return stored


def _types(columns: list[dict[str, Any]]) -> dict[str, CqlType]:
    return {
        column["name"]: parse_class(column["class"])
        for column in columns
        if column["dropped_at_us"] is None
    }


def _without_literals(of: CqlType) -> str | None:
    if not of.is_known:
        return of.name
    return next((found for each in of.of if (found := _without_literals(each))), None)

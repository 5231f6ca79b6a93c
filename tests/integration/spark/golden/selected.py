"""`SELECT *` at ALL, in raw bytes, with the write time and TTL of every cell."""

import struct
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from cassandra import ConsistencyLevel
from cassandra.cluster import EXEC_PROFILE_DEFAULT
from cassandra.protocol import ResultMessage, _ProtocolHandler
from cassandra.query import SimpleStatement, dict_factory

from tests.oracle.merge.typed import Columns, columns_of
from tests.support.servers.cassandra import CassandraNode
from tests.support.workloads.cql_types import SCALARS

Raw = Mapping[str, bytes | None]
Query = Callable[[str], Any]
Times = Sequence[int | None] | int | None
"""Times of a column: one, or one per element; None for a missing field."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row, with the bytes of each column in the native protocol."""

    values: Raw
    write_us: Mapping[str, Times]
    ttl_s: Mapping[str, Times]
    """Remaining TTL at the second of the query."""


@dataclass(frozen=True, slots=True)
class Selected:
    """The whole table. `seconds` limit the time of the queries."""

    name: str
    columns: Columns
    cell_by_cell: frozenset[str]
    has_counters: bool
    rows: tuple[Row, ...]
    seconds: range


class _RawResult(ResultMessage):  # type: ignore[misc]
    """Rows with undecoded values."""

    def recv_results_rows(self, f: Any, version: int, types: Any, known: Any, policy: Any) -> None:
        self.recv_results_metadata(f, types)
        columns = self.column_metadata or known
        (count,) = struct.unpack(">i", f.read(4))
        self.column_names = [column[2] for column in columns]
        self.column_types = [column[3] for column in columns]
        self.parsed_rows = [self.recv_row(f, len(columns)) for _ in range(count)]


class _RawProtocol(_ProtocolHandler):  # type: ignore[misc]
    message_types_by_opcode: ClassVar[dict[int, Any]] = {
        **_ProtocolHandler.message_types_by_opcode,
        ResultMessage.opcode: _RawResult,
    }


def select_tables(
    node: CassandraNode, tables: Sequence[str], level: int = ConsistencyLevel.ALL
) -> list[Selected]:
    """Each table (`keyspace.table`) at a consistency level. Tables must not change meanwhile."""
    described, raw = node.session(), node.connect()
    raw.client_protocol_handler = _RawProtocol
    raw.default_fetch_size = None
    query = partial(_query, raw, level)
    return [_select(described, query, *name.split(".", 1)) for name in tables]


def captured_tables(node: CassandraNode) -> list[str]:
    """The tables with CDC, `keyspace.table`."""
    rows = node.execute("SELECT keyspace_name, table_name, cdc FROM system_schema.tables")
    return sorted(f"{row.keyspace_name}.{row.table_name}" for row in rows if row.cdc)


def elements(cql_type: Any, raw: bytes) -> Iterator[tuple[bytes | None, bytes | None]]:
    """Path and value of each element of a multi-cell column. Lists have no paths; fields of user
    types have numbers."""
    parts = list(_sized(raw if cql_type.typename not in _COUNTED else raw[4:]))
    match cql_type.typename:
        case "list":
            yield from ((None, value) for value in parts)
        case "set":
            yield from ((path, b"") for path in parts)
        case "map":
            yield from zip(parts[::2], parts[1::2], strict=True)
        case _:
            yield from ((struct.pack(">H", at), value) for at, value in enumerate(parts))


_COUNTED = ("list", "set", "map")


def _sized(raw: bytes) -> Iterator[bytes | None]:
    at = 0
    while at < len(raw):
        (length,) = struct.unpack_from(">i", raw, at)
        yield raw[at + 4 : at + 4 + length] if length >= 0 else None
        at += 4 + max(length, 0)


def _select(described: Any, query: Query, keyspace: str, table: str) -> Selected:
    types = {
        row.column_name: row.type
        for row in described.execute(
            "SELECT column_name, type FROM system_schema.columns "
            "WHERE keyspace_name = %s AND table_name = %s",
            (keyspace, table),
        )
    }
    described.cluster.refresh_table_metadata(keyspace, table)
    metadata = described.cluster.metadata.keyspaces[keyspace].tables[table]
    source = f"{_quoted(keyspace)}.{_quoted(table)}"
    whole = query(f"SELECT * FROM {source}")
    columns = columns_of(metadata, whole.column_names, whole.column_types)
    rows = list(whole)
    has_counters = "counter" in types.values()
    timed = [] if has_counters else [column.name for column in columns.others]
    first_s = int(time.time())
    asked = list(_times(query, source, columns, timed)) if timed else [({}, {})] * len(rows)
    return Selected(
        name=f"{keyspace}.{table}",
        columns=columns,
        cell_by_cell=frozenset(name for name, text in types.items() if _is_cell_by_cell(text)),
        has_counters=has_counters,
        rows=tuple(Row(row, *times) for row, times in zip(rows, asked, strict=True)),
        seconds=range(first_s, int(time.time()) + 1),
    )


def _times(
    query: Query, source: str, columns: Columns, names: Sequence[str]
) -> Iterator[tuple[dict[str, Times], dict[str, Times]]]:
    """Write times and TTLs of each row, in the order of `SELECT *`."""
    wanted = ", ".join(
        f"WRITETIME({_quoted(name)}) AS w{at}, TTL({_quoted(name)}) AS t{at}"
        for at, name in enumerate(names)
    )
    answer = query(f"SELECT {wanted} FROM {source}")
    types = dict(zip(answer.column_names, answer.column_types, strict=True))
    for row in answer:
        found = {name: _decoded(types[name], value) for name, value in row.items()}
        yield (
            {name: found[f"w{at}"] for at, name in enumerate(names)},
            {name: found[f"t{at}"] for at, name in enumerate(names)},
        )


def _decoded(cql_type: Any, value: bytes | None) -> Times:
    if value is None:
        return None
    if cql_type.typename == "list":
        return [
            None if each is None else int.from_bytes(each, signed=True)
            for each in _sized(value[4:])
        ]
    return int.from_bytes(value, signed=True)


def _query(session: Any, level: int, query: str) -> Any:
    profile = session.execution_profile_clone_update(EXEC_PROFILE_DEFAULT, row_factory=dict_factory)
    statement = SimpleStatement(query, consistency_level=level, fetch_size=None)
    return session.execute(statement, execution_profile=profile)


def _is_cell_by_cell(cql: str) -> bool:
    """Whether the type (from `system_schema`) has several cells."""
    if cql.startswith(("list<", "set<", "map<")):
        return True
    return "<" not in cql and cql not in (*SCALARS, "counter")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'

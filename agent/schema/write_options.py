"""Options of keyspaces and tables that decide whether the node writes a change to its commit log.

`system_schema` contains only `durable_writes`. DESCRIBE returns statements with the other options
(Cassandra's TableParams and KeyspaceParams), both from the node and in `schema.file`.
"""

import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from agent.node.connection import NodeConnection, NodeFacts
from agent.node.settings import release_of
from sidecar.errors import SidecarError

DURABLE_WRITES = "durable_writes"
REPLICATION_TYPE = "replication_type"
TRANSACTIONAL_MODE = "transactional_mode"
TRANSACTIONAL_MIGRATION_FROM = "transactional_migration_from"

Options = Mapping[str, str]
"""Lower-case values by option name; options of later releases are absent."""

# Possessive, because backtracking takes 100 bytes for each letter of a comment.
_STRING = r"'[^']*+(?:''[^']*+)*+'"
_QUOTED = r'"[^"]*+(?:""[^"]*+)*+"'
_NAME = rf"(?:{_QUOTED}|\w+)"
# DESCRIBE puts a table with COMPACT STORAGE into a comment, after this line.
_REFERENCE = re.escape("(this should not be used to reproduce this schema)")
# Strings, comments and quoted names are consumed whole, so that nothing within them matches.
_TOKEN = re.compile(
    rf"""
      (?P<create>\bCREATE\s+(?P<kind>KEYSPACE|TABLE)\s+(?:IF\s+NOT\s+EXISTS\s+)?
         (?P<first>{_NAME})(?:\s*\.\s*(?P<second>{_NAME}))?)
    | \b(?P<option>{DURABLE_WRITES}|{REPLICATION_TYPE}|{TRANSACTIONAL_MODE}
         |{TRANSACTIONAL_MIGRATION_FROM})\s*=\s*(?P<value>{_STRING}|\w+)
    | (?P<end>\A|;(?:\s*+;)*+)\s*+(?:USE\s+(?P<used>{_NAME}))?
    | /\*(?:[^*(]++|\*(?!/)|(?!{_REFERENCE})\()*+{_REFERENCE}
    | {_STRING} | {_QUOTED} | \$\$.*?\$\$ | /\*.*?(?:\*/|\Z) | (?:--|//)[^\n]*+
    | \w++ | \s++ | [^\w\s'"$/;-]++
    """,
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class WriteOptions:
    keyspaces: Mapping[str, Options] = field(default_factory=dict)
    tables: Mapping[str, Options] = field(default_factory=dict)
    """Options of each existing table, by `keyspace.table`; empty before Cassandra 6.0."""
    error: str = ""
    """Why the latest query of the options failed; empty if it succeeded."""


def options_from_cql(text: str) -> WriteOptions:
    """Parses the options in the statements `CREATE KEYSPACE` and `CREATE TABLE` of a text."""
    keyspaces: dict[str, Options] = {}
    tables: dict[str, Options] = {}
    known: dict[str, str] | None = None
    used = ""
    for token in _TOKEN.finditer(text):
        if token["create"]:
            known = {}
            first = _name(token["first"])
            if token["kind"].upper() == "KEYSPACE":
                keyspaces[first] = known
            elif token["second"]:
                tables[f"{first}.{_name(token['second'])}"] = known
            else:
                tables[f"{used}.{first}"] = known
        elif token["used"]:
            known, used = None, _name(token["used"])
        elif token["end"]:
            known = None
        elif token["option"] and known is not None:
            known[token["option"].lower()] = token["value"].strip("'").lower()
    return WriteOptions(keyspaces, tables)


def options_from_rows(
    keyspaces: Iterable[Mapping[str, object]], tables: Iterable[Mapping[str, object]]
) -> WriteOptions:
    """Returns keyspace options and table names from rows of `system_schema`."""
    return WriteOptions(
        {
            str(row["keyspace_name"]): {DURABLE_WRITES: str(row[DURABLE_WRITES]).lower()}
            for row in keyspaces
        },
        {f"{row['keyspace_name']}.{row['table_name']}": {} for row in tables},
    )


def _name(text: str) -> str:
    return text[1:-1].replace('""', '"') if text.startswith('"') else text.lower()


_FIRST_WITH_TRANSACTIONS = 6
_KEYSPACES = "SELECT keyspace_name, durable_writes FROM system_schema.keyspaces"
_TABLES = "SELECT keyspace_name, table_name FROM system_schema.tables"
_INTERVAL_S = 300.0
"""Interval between reads while the schema version stays the same."""


def read_write_options(connection: NodeConnection, facts: NodeFacts) -> WriteOptions:
    """Queries the node. Returns errors in the result: the schema is useful without the options."""
    try:
        if release_of(facts) < _FIRST_WITH_TRANSACTIONS:
            return options_from_rows(connection.rows(_KEYSPACES), connection.rows(_TABLES))
        # DESCRIBE needs a login but no permission.
        rows = connection.rows("DESCRIBE SCHEMA")
    except SidecarError as error:
        return WriteOptions(error=str(error))
    return options_from_cql("\n".join(str(row["create_statement"]) for row in rows))


class NodeWriteOptions:
    """Caches the options of one node. Reads them again after an upgrade, for a new schema version,
    and every five minutes. DESCRIBE returns the whole schema, so it is not part of each fetch."""

    def __init__(
        self, connection: NodeConnection, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`clock` returns seconds."""
        self._connection = connection
        self._clock = clock
        self._known: tuple[str, str] | None = None
        self._read_s = 0.0
        self._options = WriteOptions()

    def current(self, facts: NodeFacts, version: str) -> WriteOptions:
        """Returns the options for a schema version that was read before this call. After a failure,
        returns the latest known options with the error."""
        now_s, wanted = self._clock(), (facts.release_version, version)
        if wanted != self._known or now_s - self._read_s >= _INTERVAL_S:
            read = read_write_options(self._connection, facts)
            # Keep the latest answer, so that a busy node does not appear to have changed.
            self._options = replace(self._options, error=read.error) if read.error else read
            self._known = None if read.error else wanted
            self._read_s = now_s
        return self._options

"""Options of keyspaces and tables that decide whether the node writes a change to its commit log.

`system_schema` has only `durable_writes`. The other options stand in the statements of DESCRIBE
(Cassandra's TableParams and KeyspaceParams), which the node and `schema.file` have in common. Pure.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

DURABLE_WRITES = "durable_writes"
REPLICATION_TYPE = "replication_type"
TRANSACTIONAL_MODE = "transactional_mode"
TRANSACTIONAL_MIGRATION_FROM = "transactional_migration_from"

Options = Mapping[str, str]
"""Values in lower case by the name of the option; an option of a later release is absent."""

# Possessive: a matcher that may come back takes 100 bytes for each letter of a comment.
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
    """The options of all keyspaces and tables."""

    keyspaces: Mapping[str, Options] = field(default_factory=dict)
    tables: Mapping[str, Options] = field(default_factory=dict)
    """Each table that exists, by `keyspace.table`; before Cassandra 6.0 without an option."""
    error: str = ""
    """Why the node does not report them; empty when it does."""


def options_from_cql(text: str) -> WriteOptions:
    """The options in the statements `CREATE KEYSPACE` and `CREATE TABLE` of a text."""
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
    """The options of keyspaces and the names of tables, from rows of `system_schema`."""
    return WriteOptions(
        {
            str(row["keyspace_name"]): {DURABLE_WRITES: str(row[DURABLE_WRITES]).lower()}
            for row in keyspaces
        },
        {f"{row['keyspace_name']}.{row['table_name']}": {} for row in tables},
    )


def _name(text: str) -> str:
    return text[1:-1].replace('""', '"') if text.startswith('"') else text.lower()

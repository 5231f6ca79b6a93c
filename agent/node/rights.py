"""The rights of the agent's role, and the statements that grant the missing ones."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from agent.node.connection import NodeConnection
from sidecar.errors import SidecarError

SETTINGS = "system_views.settings"
_EVERYTHING = "<all keyspaces>"
_READING = frozenset(("SELECT", "ALL", "ALL PERMISSIONS"))
_PLAIN = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Rights:
    """The rights of a role, including those of granted roles."""

    is_superuser: bool = False
    readable: frozenset[str] = frozenset()
    """Resources with SELECT, as the node names them: `<table shop.orders>`, `<keyspace shop>`,
    `<all keyspaces>`."""

    def can_read(self, table: str) -> bool:
        """Whether the role can read a table (`keyspace.table`)."""
        keyspace = table.partition(".")[0]
        places = {f"<table {table}>", f"<keyspace {keyspace}>", _EVERYTHING}
        places.add(f"<all tables in {keyspace}>")
        return self.is_superuser or bool(self.readable & places)


def role_rights(connection: NodeConnection, role: str) -> Rights | None:
    """The rights of a role, which may list its own. None without authorization, or when a release
    does not answer; then each failed read is reported on its own."""
    name = quoted(role)
    try:
        roles = connection.rows(f"LIST ROLES OF {name}")
        if any(row.get("super") for row in roles):
            return Rights(is_superuser=True)
        granted = connection.rows(f"LIST ALL PERMISSIONS OF {name}")
    except SidecarError:
        return None
    return Rights(
        readable=frozenset(
            str(row.get("resource")) for row in granted if row.get("permission") in _READING
        )
    )


def quoted(role: str) -> str:
    escaped = role.replace('"', '""')
    return f'"{escaped}"'


def grants(role: str, tables: Collection[str]) -> str:
    """Statements for a superuser; one for each keyspace with several tables."""
    return " ".join(f"GRANT SELECT ON {place} TO {quoted(role)};" for place in _places(tables))


def _places(tables: Collection[str]) -> Iterator[str]:
    by_keyspace: dict[str, list[str]] = {}
    for table in tables:
        keyspace, _, name = table.partition(".")
        by_keyspace.setdefault(keyspace, []).append(name)
    for keyspace, names in sorted(by_keyspace.items()):
        if len(names) > 1:
            yield f"KEYSPACE {cql_identifier(keyspace)}"
        else:
            yield f"{cql_identifier(keyspace)}.{cql_identifier(names[0])}"


def cql_identifier(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else quoted(name)

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
    """The rights of one role, with those of the roles that it has been granted."""

    is_superuser: bool = False
    readable: frozenset[str] = frozenset()
    """Resources with SELECT as the node writes them: `<table shop.orders>`, `<keyspace shop>`,
    `<all keyspaces>`."""

    def may_read(self, table: str) -> bool:
        """A table, as `keyspace.table`."""
        keyspace = table.partition(".")[0]
        places = {f"<table {table}>", f"<keyspace {keyspace}>", _EVERYTHING}
        places.add(f"<all tables in {keyspace}>")
        return self.is_superuser or bool(self.readable & places)


def role_rights(connection: NodeConnection, role: str) -> Rights | None:
    """A role may list its own rights. None where the node does not check rights, or a release does
    not answer: what cannot be read is then reported where it is read."""
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
    """A role's name as CQL takes it."""
    escaped = role.replace('"', '""')
    return f'"{escaped}"'


def grants(role: str, tables: Collection[str]) -> str:
    """The statements, for a superuser; one a keyspace where several of its tables are named."""
    return " ".join(f"GRANT SELECT ON {place} TO {quoted(role)};" for place in _places(tables))


def _places(tables: Collection[str]) -> Iterator[str]:
    by_keyspace: dict[str, list[str]] = {}
    for table in tables:
        keyspace, _, name = table.partition(".")
        by_keyspace.setdefault(keyspace, []).append(name)
    for keyspace, names in sorted(by_keyspace.items()):
        if len(names) > 1:
            yield f"KEYSPACE {_identifier(keyspace)}"
        else:
            yield f"{_identifier(keyspace)}.{_identifier(names[0])}"


def _identifier(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else quoted(name)

"""The rights of the agent's role, and the statements that grant the missing ones."""

from collections.abc import Collection, Iterator

from agent.node.connection import NodeConnection
from commitlog.masking import Rights, cql_identifier, quoted, read_rights
from sidecar.errors import SidecarError

SETTINGS = "system_views.settings"


def role_rights(connection: NodeConnection, role: str | None) -> Rights | None:
    """The rights of a role, which may list its own. None without authorization, or when a release
    does not answer; then each failed read is reported on its own."""
    try:
        return read_rights(connection.rows, role)
    except SidecarError:
        return None


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

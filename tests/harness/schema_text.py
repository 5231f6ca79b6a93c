"""The schema of a node as CQL text with table ids, in the form of `DESCRIBE … WITH INTERNALS`."""

from typing import Any


def is_system_keyspace(name: str) -> bool:
    """Whether Cassandra made the keyspace for itself."""
    return name == "system" or name.startswith("system_")


def describe_schema(session: Any, *, server_side: bool) -> str:
    """All user keyspaces of a driver session, in order of their names.

    3.11 has no server-side DESCRIBE (`server_side=False`): the driver's text, with the ids added.
    """
    rows = session.execute("SELECT keyspace_name FROM system_schema.keyspaces")
    names = sorted(row.keyspace_name for row in rows if not is_system_keyspace(row.keyspace_name))
    if server_side:
        return "\n\n".join(_from_server(session, name) for name in names) + "\n"
    session.cluster.refresh_schema_metadata()
    return "\n\n".join(_from_driver(session, name) for name in names) + "\n"


def _from_server(session: Any, keyspace: str) -> str:
    rows = session.execute(f'DESCRIBE KEYSPACE "{keyspace}" WITH INTERNALS')
    return "\n\n".join(row.create_statement for row in rows)


def _from_driver(session: Any, keyspace: str) -> str:
    text = str(session.cluster.metadata.keyspaces[keyspace].export_as_string())
    rows = session.execute(
        "SELECT table_name, id FROM system_schema.tables WHERE keyspace_name = %s", (keyspace,)
    )
    for row in rows:
        head, found, rest = _split_at_table(text, keyspace, row.table_name)
        if found:
            text = head + found + rest.replace(") WITH ", f") WITH ID = {row.id}\n    AND ", 1)
    return text


def _split_at_table(text: str, keyspace: str, table: str) -> tuple[str, str, str]:
    for left in (keyspace, f'"{keyspace}"'):
        for right in (table, f'"{table}"'):
            found = f"CREATE TABLE {left}.{right} ("
            if found in text:
                head, rest = text.split(found, 1)
                return head, found, rest
    return text, "", ""

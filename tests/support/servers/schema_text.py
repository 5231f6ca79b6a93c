"""The schema of a node as CQL text with table ids, in the form of `DESCRIBE … WITH INTERNALS`."""

from collections.abc import Iterator
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
    texts = [describe_keyspace(session, name, server_side=server_side) for name in names]
    return "\n".join(texts)


def describe_keyspace(session: Any, keyspace: str, *, server_side: bool) -> str:
    """One keyspace: its types, tables with what was dropped from them, and views."""
    if server_side:
        rows = session.execute(f'DESCRIBE KEYSPACE "{keyspace}" WITH INTERNALS')
        return "\n\n".join(row.create_statement for row in rows) + "\n"
    found = _metadata(session, keyspace)
    parts = [f"{found.as_cql_query()};", *found.user_type_strings()]
    parts += [_driver_table(session, table) for table in found.tables.values()]
    ids = _ids(session, "view", keyspace)
    for name, view in found.views.items():
        text = view.as_cql_query(formatted=True)
        parts.append(text.replace("\n    WITH ", f"\n    WITH ID = {ids[name]}\n    AND ", 1) + ";")
    return "\n\n".join(parts) + "\n"


def describe_table(session: Any, keyspace: str, table: str, *, server_side: bool) -> str:
    """One table with what was dropped from it."""
    if server_side:
        rows = session.execute(f'DESCRIBE TABLE "{keyspace}"."{table}" WITH INTERNALS')
        return "\n\n".join(row.create_statement for row in rows) + "\n"
    return _driver_table(session, _metadata(session, keyspace).tables[table]) + "\n"


def _metadata(session: Any, keyspace: str) -> Any:
    session.cluster.refresh_schema_metadata(max_schema_agreement_wait=0)
    return session.cluster.metadata.keyspaces[keyspace]


def _ids(session: Any, kind: str, keyspace: str) -> dict[str, str]:
    """Ids of a keyspace's tables or views by their names."""
    rows = session.execute(
        f"SELECT {kind}_name AS name, id FROM system_schema.{kind}s WHERE keyspace_name = %s",
        (keyspace,),
    )
    return {row.name: str(row.id) for row in rows}


def _driver_table(session: Any, table: Any) -> str:
    table_id = _ids(session, "table", table.keyspace_name)[table.name]
    text = table.as_cql_query(formatted=True)
    text = text.replace(") WITH ", f") WITH ID = {table_id}\n    AND ", 1) + ";"
    name = text.split("CREATE TABLE ", 1)[1].split(" (", 1)[0]
    return "\n".join((text, *_dropped_columns(session, table, name)))


def _dropped_columns(session: Any, table: Any, name: str) -> Iterator[str]:
    """What the driver leaves out, in the words in which later releases describe it."""
    rows = session.execute(
        "SELECT column_name, kind, type, toUnixTimestamp(dropped_time) AS dropped_time_ms FROM "
        "system_schema.dropped_columns WHERE keyspace_name = %s AND table_name = %s",
        (table.keyspace_name, table.name),
    )
    for row in rows:
        if row.column_name not in table.columns:
            column = '"' + row.column_name.replace('"', '""') + '"'
            static = " static" if row.kind == "static" else ""
            yield f"ALTER TABLE {name} ADD {column} {row.type}{static};"
            yield f"ALTER TABLE {name} DROP {column} USING TIMESTAMP {row.dropped_time_ms * 1000};"

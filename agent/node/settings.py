"""Reads a running node's settings, the permissions of a role, and the limit of `cdc_raw`.

The limit (`cdc_total_space`) comes from `cassandra.config` or from the node.
"""

import shutil
from collections.abc import Collection, Iterator, Mapping

from agent.cdc_raw.quota import Quota
from agent.config.loader import AgentConfig
from agent.config.node_settings import NodeSettings, cdc_total_limit_bytes, settings_of_node
from agent.node.connection import NodeConnection, NodeFacts, node_connection
from commitlog.masking import Rights, cql_identifier, quoted, read_rights
from sidecar.errors import SidecarError

SETTINGS = "system_views.settings"


def role_rights(connection: NodeConnection, role: str | None) -> Rights | None:
    """Returns the permissions of a role, which any role may list for itself. Returns None without
    authorization or if the query fails. Each failed read is then reported separately."""
    try:
        return read_rights(connection.rows, role)
    except SidecarError:
        return None


def grants(role: str, tables: Collection[str]) -> str:
    """Returns statements for a superuser; several tables of a keyspace share one statement."""
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


_FIRST_WITH_VIRTUAL_TABLES = 4


def release_of(facts: NodeFacts) -> int:
    """Returns the major release, such as 5 for `5.0.9`."""
    return int(facts.release_version.split(".", 1)[0])


def running_settings(connection: NodeConnection, facts: NodeFacts) -> NodeSettings | None:
    """Queries the node's settings. Returns None before 4.0, which has no virtual tables."""
    if release_of(facts) < _FIRST_WITH_VIRTUAL_TABLES:
        return None
    rows = connection.rows("SELECT name, value FROM system_views.settings")
    values: Mapping[str, str | None] = {str(row["name"]): row["value"] for row in rows}
    return settings_of_node(f"system_views.settings of {connection.address}", values)


_SET_CONFIG = "Set cassandra.config to the node's cassandra.yaml."


def configured_quota(config: AgentConfig) -> Quota:
    """Returns the limit in `cassandra.config`; without this file, neither limit nor error."""
    settings = config.node_settings
    return Quota() if settings is None else Quota(_limit_bytes(config, settings))


def deletes_at_bytes(config: AgentConfig) -> int | None:
    """Returns the limit at which the node deletes unread segments; None without
    `cassandra.config`, or if the node rejects writes instead."""
    settings = config.node_settings
    if settings is None or settings.cdc_block_writes:
        return None
    return _limit_bytes(config, settings)


def node_quota(config: AgentConfig) -> Quota:
    """Queries the node's limit (4.0 and later). Blocks for seconds if the node does not answer."""
    if config.properties.schema_file is not None:
        return unknown_quota(config, None, None)
    connection = node_connection(config)
    try:
        facts = connection.facts()
        settings = running_settings(connection, facts)
    except SidecarError as failure:
        return unknown_quota(config, None, failure)
    finally:
        connection.close()
    if settings is None:
        return unknown_quota(config, facts, None)
    return Quota(_limit_bytes(config, settings))


def unknown_quota(
    config: AgentConfig, facts: NodeFacts | None, error: SidecarError | None
) -> Quota:
    """Explains why neither `cassandra.config` nor the node reports the limit. `error` is the error
    of the settings query; `facts` is None without a connection."""
    if error is not None:
        return Quota(None, str(error), f"{grant_sentence(config, SETTINGS)} Or: {_SET_CONFIG}")
    if facts is None:
        return Quota(None, "with schema.file there is no connection to the node.", _SET_CONFIG)
    release = facts.release_version
    return Quota(None, f"Cassandra {release} has no table system_views.settings.", _SET_CONFIG)


def grant_sentence(config: AgentConfig, table: str) -> str:
    """Returns the remedy that lets the agent's role read a table."""
    role = config.properties.cassandra_username
    if role is None:
        return f"Let the agent's role read {table}."
    return f"As a superuser: {grants(role, [table])}"


def _limit_bytes(config: AgentConfig, settings: NodeSettings) -> int | None:
    try:
        volume_bytes = shutil.disk_usage(config.cdc_raw_directory).total
    except OSError:
        return settings.cdc_total_bytes
    return cdc_total_limit_bytes(settings.cdc_total_bytes, volume_bytes)

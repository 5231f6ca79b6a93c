"""The limit of `cdc_raw` (`cdc_total_space`), by `cassandra.config` or by the node's own answer."""

import shutil

from agent.cdc_raw.quota import Quota
from agent.config.loader import AgentConfig
from agent.config.node_settings import NodeSettings, cdc_total_limit_bytes
from agent.node.connect import node_connection
from agent.node.connection import NodeFacts
from agent.node.rights import SETTINGS, grants
from agent.node.running_settings import running_settings
from sidecar.errors import SidecarError

_SET_CONFIG = "Set cassandra.config to the node's cassandra.yaml."


def configured_quota(config: AgentConfig) -> Quota:
    """The limit of `cassandra.config`; without that file neither limit nor error."""
    settings = config.node_settings
    return Quota() if settings is None else Quota(_limit_bytes(config, settings))


def deletes_at_bytes(config: AgentConfig) -> int | None:
    """The limit at which the node deletes unread segments; None without `cassandra.config`, or when
    the node rejects writes instead."""
    settings = config.node_settings
    if settings is None or settings.cdc_block_writes:
        return None
    return _limit_bytes(config, settings)


def node_quota(config: AgentConfig) -> Quota:
    """The limit that the node reports (4.0 and later). Blocks for seconds without an answer."""
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
    """Why neither `cassandra.config` nor the node has the limit. `error` is that of the request for
    the settings; `facts` are None without a connection."""
    if error is not None:
        return Quota(None, str(error), f"{grant_sentence(config)} Or: {_SET_CONFIG}")
    if facts is None:
        return Quota(None, "with schema.file there is no connection to the node.", _SET_CONFIG)
    release = facts.release_version
    return Quota(None, f"Cassandra {release} has no table system_views.settings.", _SET_CONFIG)


def grant_sentence(config: AgentConfig) -> str:
    """The statement that lets the agent's role read the node's settings."""
    role = config.properties.cassandra_username
    if role is None:
        return f"Let the agent's role read {SETTINGS}."
    return f"As a superuser: {grants(role, [SETTINGS])}"


def _limit_bytes(config: AgentConfig, settings: NodeSettings) -> int | None:
    try:
        volume_bytes = shutil.disk_usage(config.cdc_raw_directory).total
    except OSError:
        return settings.cdc_total_bytes
    return cdc_total_limit_bytes(settings.cdc_total_bytes, volume_bytes)

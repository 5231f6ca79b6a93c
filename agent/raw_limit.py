"""How large the node lets `cdc_raw` grow, from wherever that is known."""

import shutil

from agent.check.node import running_settings
from agent.config import AgentConfig
from agent.config.node_settings import NodeSettings, cdc_total_limit_bytes
from agent.schema import node_connection
from sidecar.errors import SidecarError


def configured_limit_bytes(config: AgentConfig) -> int | None:
    """By `cassandra.config`; None without it."""
    return _limit_bytes(config, config.node_settings)


def limit_of_node_bytes(config: AgentConfig) -> int | None:
    """By the node's own answer (4.0 and later); None when there is none. Takes seconds when the
    node is away."""
    if config.properties.schema_file is not None:
        return None
    connection = node_connection(config)
    try:
        return _limit_bytes(config, running_settings(connection, connection.facts()))
    except SidecarError:
        return None
    finally:
        connection.close()


def _limit_bytes(config: AgentConfig, settings: NodeSettings | None) -> int | None:
    if settings is None:
        return None
    try:
        volume_bytes = shutil.disk_usage(config.cdc_raw_directory).total
    except OSError:
        return settings.cdc_total_bytes
    return cdc_total_limit_bytes(settings.cdc_total_bytes, volume_bytes)

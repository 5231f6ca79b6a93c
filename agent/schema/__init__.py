"""The schema of the node: feeders (node or file), and the holder that merges their schemas."""

import socket

from agent.config.loader import AgentConfig
from agent.node.connection import node_connection
from agent.node.host_ids import offsets_owner
from agent.schema.history import SchemaHistory
from agent.schema.holder import SchemaHolder
from agent.schema.node_schema import NodeSchema
from agent.schema.source import NodeIdentity, SchemaFeeder, SchemaFile

__all__ = ["NodeIdentity", "SchemaHolder", "create_schema_holder"]

_DEFAULT_CLUSTER = "Test Cluster"


def create_schema_holder(config: AgentConfig) -> SchemaHolder:
    """Creates an unstarted holder for `schema.file` or the node. Raises `ConfigError`."""
    return SchemaHolder(
        _feeder(config),
        SchemaHistory(config.properties.offset_directory),
        refresh_interval_ms=config.properties.schema_refresh_interval_ms,
        waits_when_denied=config.properties.waits_when_denied,
    )


def _feeder(config: AgentConfig) -> SchemaFeeder:
    properties = config.properties
    if properties.schema_file is not None:
        identity = NodeIdentity(
            properties.node_id or socket.gethostname(), config.cluster_name or _DEFAULT_CLUSTER
        )
        return SchemaFile(properties.schema_file, identity)
    return NodeSchema(
        node_connection(config),
        node_id=properties.node_id,
        cluster_name=config.cluster_name,
        owner=offsets_owner(properties.offset_directory),
    )

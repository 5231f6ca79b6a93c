"""The connection that the configuration describes."""

from functools import partial

from agent.config.loader import AgentConfig
from agent.config.tls import tls_context
from agent.node.connection import Credentials, NodeAddress, NodeConnection


def node_connection(config: AgentConfig) -> NodeConnection:
    """A connection to the node of the configuration, not yet made. Raises `ConfigError`."""
    return NodeConnection(node_address(config), partial(node_address, config))


def node_address(config: AgentConfig) -> NodeAddress:
    """With the login and the certificates of now. Raises `ConfigError`."""
    properties = config.properties.reread()
    credentials = None
    if properties.cassandra_username is not None and properties.cassandra_password is not None:
        credentials = Credentials(
            properties.cassandra_username, properties.cassandra_password.get_secret_value()
        )
    return NodeAddress(
        hosts=config.hosts,
        port=config.port,
        credentials=credentials,
        tls=tls_context(properties),
    )

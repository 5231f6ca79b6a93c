"""The local Cassandra node: CQL connection, settings, rights, and the limit of `cdc_raw`."""

from agent.node.connect import node_connection
from agent.node.connection import Credentials, NodeAddress, NodeConnection, NodeFacts

__all__ = ["Credentials", "NodeAddress", "NodeConnection", "NodeFacts", "node_connection"]

"""The settings that a running node reports in `system_views.settings`."""

from collections.abc import Mapping

from agent.config.node_settings import NodeSettings, settings_of_node
from agent.node.connection import NodeConnection, NodeFacts

_FIRST_WITH_VIRTUAL_TABLES = 4


def release_of(facts: NodeFacts) -> int:
    """Major release: 5 for `5.0.9`."""
    return int(facts.release_version.split(".", 1)[0])


def running_settings(connection: NodeConnection, facts: NodeFacts) -> NodeSettings | None:
    """None before 4.0, which has no such table."""
    if release_of(facts) < _FIRST_WITH_VIRTUAL_TABLES:
        return None
    rows = connection.rows("SELECT name, value FROM system_views.settings")
    values: Mapping[str, str | None] = {str(row["name"]): row["value"] for row in rows}
    return settings_of_node(f"system_views.settings of {connection.address}", values)

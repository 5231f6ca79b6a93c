"""The checks that are repeated while the agent runs: what the pipeline itself does not notice.

A node that does not answer, and a role that may not read the settings, are reported by the schema
and the quota.
"""

from collections.abc import Iterator

from agent.check.directories import check_file_systems
from agent.check.node import check_agreement, check_settings, running_settings
from agent.config import AgentConfig, directory_problems
from agent.config.node_settings import NodeSettings
from agent.schema import node_connection
from sidecar.check.finding import Finding, fault
from sidecar.errors import SidecarError


def repeated_checks(config: AgentConfig) -> Iterator[Finding]:
    """May wait some seconds for the node."""
    settings = _node_settings(config) or config.node_settings
    if settings is not None:
        yield from check_agreement(config, settings)
        yield from check_settings(settings)
    problems = directory_problems(config)
    for problem in problems:
        remedy = "Make it, let this user read and write it, or name another one."
        yield fault("directories", problem, remedy, code="directory_unusable")
    if not problems:
        yield from check_file_systems(config, settings)


def _node_settings(config: AgentConfig) -> NodeSettings | None:
    if config.properties.schema_file is not None:
        return None
    connection = node_connection(config)
    try:
        return running_settings(connection, connection.facts())
    except SidecarError:
        return None
    finally:
        connection.close()

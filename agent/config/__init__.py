"""The agent's configuration: properties, and the node's `cassandra.yaml`."""

from agent.config.loader import (
    OFFSET_FILE,
    AgentConfig,
    directory_problems,
    directory_warnings,
    load_config,
)

__all__ = ["OFFSET_FILE", "AgentConfig", "directory_problems", "directory_warnings", "load_config"]

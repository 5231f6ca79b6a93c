"""Errors of a configuration that need no connection, for `config check` and `run`."""

from agent.config.loader import OFFSET_FILE, SNAPSHOT_FILE, AgentConfig, directory_problems
from sidecar.cli import offsets
from sidecar.errors import ConfigError
from sidecar.offsets.properties_store import PropertiesStore


def state_stores(config: AgentConfig) -> list[PropertiesStore]:
    """The offsets of segments and of snapshots."""
    directory, prefix = config.properties.offset_directory, config.properties.topic_prefix
    return [PropertiesStore(directory, file, prefix) for file in (OFFSET_FILE, SNAPSHOT_FILE)]


def start_problems(config: AgentConfig) -> list[str]:
    """One message for each unusable directory, state file, schema file and address."""
    properties = config.properties
    problems = offsets.start_problems(properties, directory_problems(config), state_stores(config))
    if properties.schema_file is None:
        return problems
    # Imported here: the parser takes long to load, and `schema.file` is rare.
    from agent.schema import NodeIdentity
    from agent.schema.schema_file import SchemaFile

    try:
        SchemaFile(properties.schema_file, NodeIdentity("", "")).fetch()
    except ConfigError as error:
        problems.append(str(error))
    return problems

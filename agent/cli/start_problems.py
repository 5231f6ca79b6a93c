"""Errors of a configuration that need no connection, for `config check` and `run`."""

from contextlib import suppress

from agent.config import OFFSET_FILE, AgentConfig, directory_problems
from agent.snapshot.offsets import FILE as SNAPSHOT_FILE
from sidecar.errors import ConfigError, OffsetStoreError
from sidecar.http.address import address_problem
from sidecar.offsets import PropertiesStore


def start_problems(config: AgentConfig) -> list[str]:
    """One message for each unusable directory, state file, schema file and address."""
    problems = directory_problems(config)
    if not problems:
        problems += _state_problems(config)
    address = address_problem(config.properties.http_host)
    if address is not None:
        problems.append(address)
    if config.properties.schema_file is not None:
        problems += _schema_problems(config)
    return problems


def _state_problems(config: AgentConfig) -> list[str]:
    """State of another topic.prefix or a later release. The start itself recovers from damage."""
    properties = config.properties
    for file in (OFFSET_FILE, SNAPSHOT_FILE):
        try:
            with suppress(OffsetStoreError):
                PropertiesStore(properties.offset_directory, file, properties.topic_prefix).load()
        except ConfigError as error:
            return [str(error)]
    return []


def _schema_problems(config: AgentConfig) -> list[str]:
    # Imported here: the parser takes long to load, and `schema.file` is rare.
    from agent.schema import NodeIdentity
    from agent.schema.schema_file import SchemaFile

    assert config.properties.schema_file is not None
    try:
        SchemaFile(config.properties.schema_file, NodeIdentity("", "")).fetch()
    except ConfigError as error:
        return [str(error)]
    return []

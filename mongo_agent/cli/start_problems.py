"""Checks of directories, state files and addresses before a start."""

from mongo_agent.config.loading import MongoConfig, directory_problems
from mongo_agent.offsets import OFFSET_FILE
from sidecar.cli import offsets
from sidecar.offsets.properties_store import PropertiesStore


def state_stores(config: MongoConfig) -> list[PropertiesStore]:
    """The offset file; none when a topic has the offsets."""
    properties = config.properties
    if properties.position_store == "kafka":
        return []
    return [PropertiesStore(properties.offset_directory, OFFSET_FILE, properties.topic_prefix)]


def start_problems(config: MongoConfig) -> list[str]:
    """A message for each unusable directory, state file and address."""
    return offsets.start_problems(
        config.properties, directory_problems(config), state_stores(config)
    )

"""Checks of directories, state files and addresses before a start."""

from contextlib import suppress

from mongo_agent.config import MongoConfig, directory_problems
from mongo_agent.offsets import OFFSET_FILE
from sidecar.errors import ConfigError, OffsetStoreError
from sidecar.http.address import address_problem
from sidecar.offsets import PropertiesStore


def start_problems(config: MongoConfig) -> list[str]:
    """A message for each unusable directory, state file and address."""
    properties = config.properties
    problems = directory_problems(config)
    if not problems and properties.position_store == "file":
        try:
            with suppress(OffsetStoreError):
                store = PropertiesStore(
                    properties.offset_directory, OFFSET_FILE, properties.topic_prefix
                )
                store.load()
        except ConfigError as error:
            problems.append(str(error))
    address = address_problem(properties.http_host)
    if address is not None:
        problems.append(address)
    return problems

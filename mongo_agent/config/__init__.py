"""The MongoDB agent's configuration: properties, and what follows from them."""

from mongo_agent.config.client import ClientSettings
from mongo_agent.config.copying import CopySettings
from mongo_agent.config.loading import (
    MongoConfig,
    config_problems,
    directory_problems,
    load_config,
)
from mongo_agent.config.model import MongoProperties

__all__ = [
    "ClientSettings",
    "CopySettings",
    "MongoConfig",
    "MongoProperties",
    "config_problems",
    "directory_problems",
    "load_config",
]

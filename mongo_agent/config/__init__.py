"""The MongoDB agent's configuration."""

from mongo_agent.config.client import ClientSettings
from mongo_agent.config.loading import (
    MongoConfig,
    directory_problems,
    load_config,
)
from mongo_agent.config.model import MongoProperties

__all__ = [
    "ClientSettings",
    "MongoConfig",
    "MongoProperties",
    "directory_problems",
    "load_config",
]

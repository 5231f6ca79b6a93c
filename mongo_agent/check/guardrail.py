"""A limit on the number of collections, looked at before anything is read."""

import logging
from typing import Any

from pymongo import MongoClient
from pymongo.errors import PyMongoError

from mongo_agent.capture.catalogue import list_collections
from mongo_agent.check.capture_plan import plan_of
from mongo_agent.config import MongoConfig
from mongo_agent.server.errors import server_error
from sidecar.errors import ConfigError

logger = logging.getLogger(__name__)

Client = MongoClient[Any]


def limit_violation(captured: int, config: MongoConfig) -> str | None:
    """A sentence where more collections are captured than `guardrail.collections.max` allows."""
    most = config.properties.guardrail_max
    if most == 0 or captured <= most:
        return None
    return (
        f"{captured} collections are captured, and `guardrail.collections.max={most}` allows "
        "fewer: narrow the lists, which `mongo-agent plan` explains, or raise it."
    )


def enforce_limit(client: Client, config: MongoConfig) -> None:
    """Asks the server for its collections where there is a limit. Raises ConfigError by
    `guardrail.collections.limit.action=fail`, and what a server that does not answer means."""
    if config.properties.guardrail_max == 0:
        return
    try:
        listed = list(list_collections(client, config.scopes))
    except PyMongoError as error:
        raise server_error(error) from error
    sentence = limit_violation(sum(plan_of(each, config).is_captured for each in listed), config)
    if sentence is None:
        return
    if config.properties.guardrail_action == "fail":
        raise ConfigError(sentence)
    logger.warning(sentence)

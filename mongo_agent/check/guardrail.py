"""The limit on the number of captured collections, checked before a start."""

import logging
from typing import Any

from pymongo import MongoClient
from pymongo.errors import PyMongoError

from mongo_agent.capture.catalogue import list_collections
from mongo_agent.check.capture_plan import plan_of
from mongo_agent.config.loading import MongoConfig
from mongo_agent.server.errors import server_error
from mongo_agent.server.replies import decoded_replies
from sidecar.errors import ConfigError

logger = logging.getLogger(__name__)

Client = MongoClient[Any]


def limit_violation(captured: int, config: MongoConfig) -> str | None:
    """An error if the agent captures more than `guardrail.collections.max` collections."""
    most = config.properties.guardrail_max
    if most == 0 or captured <= most:
        return None
    return (
        f"The agent captures {captured} collections; `guardrail.collections.max={most}` allows "
        "fewer. Narrow the lists (see `mongo-agent plan`) or raise the limit."
    )


def enforce_limit(client: Client, config: MongoConfig) -> None:
    """Count the collections and enforce the limit, if one is set.

    Raises ConfigError with `guardrail.collections.limit.action=fail`, and `server_error`s.
    """
    if config.properties.guardrail_max == 0:
        return
    try:
        with decoded_replies():
            listed = list(list_collections(client, config.scopes))
    except PyMongoError as error:
        raise server_error(error) from error
    message = limit_violation(sum(plan_of(each, config).is_captured for each in listed), config)
    if message is None:
        return
    if config.properties.guardrail_action == "fail":
        raise ConfigError(message)
    logger.warning(message)

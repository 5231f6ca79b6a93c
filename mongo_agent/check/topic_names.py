"""Detection of topics that collections share or Kafka rejects, in `check`, `plan` and at start."""

import logging
from collections.abc import Iterable, Iterator
from functools import partial

from mongo_agent.check.capture_plan import captured_among, list_captured
from mongo_agent.check.probe import MongoProbe
from mongo_agent.config.loading import MongoConfig
from mongo_agent.server.catalogue import CollectionInfo
from mongo_agent.server.commands import Client
from mongo_agent.server.deployment import Deployment
from sidecar.check.broker import ANSWER_S
from sidecar.check.check import Finding, Level
from sidecar.check.topic_names import TopicUse, check_collisions, check_shared
from sidecar.errors import ConfigError, SidecarError
from sidecar.sinks.kafka.topics.access import compacted_topics

logger = logging.getLogger(__name__)

_APART = (
    "Set topic.naming.strategy=DefaultUnicodeTopicNamingStrategy, which keeps different names "
    "different, or exclude all but one of the collections (collection.exclude.list)."
)


def topic_uses(config: MongoConfig, captured: Iterable[CollectionInfo]) -> list[TopicUse]:
    return [
        TopicUse(config.topic_of(each.database, each.name), each.namespace) for each in captured
    ]


def check_topic_names(probe: MongoProbe, deployment: Deployment) -> Iterator[Finding]:
    """Check that Kafka accepts every topic name, and that no collections share a topic."""
    config = probe.config
    if config.properties.sink != "kafka":
        return
    of_collections = topic_uses(config, probe.captured)
    own = [TopicUse(topic, name) for name, topic in config.properties.own_topics()]
    yield from check_collisions([*of_collections, *own], probe.broker().topics, _APART)
    yield from _check_shared(config, of_collections)


def shared_topic_warnings(config: MongoConfig, listed: Iterable[CollectionInfo]) -> list[str]:
    """Return warnings for `mongo-agent plan`, which does not query the broker."""
    uses = topic_uses(config, captured_among(listed, config))
    is_chosen = config.properties.is_topic_replaced
    found = check_shared(uses, lambda _: (), _APART, is_chosen=is_chosen)
    return [f"{each.message} {each.remedy}" for each in found]


def require_separate_topics(client: Client, config: MongoConfig) -> None:
    """Raise ConfigError if collections share a compacted topic; log a warning for other topics.

    Does nothing if it cannot list the collections; the checks report the cause.
    """
    if config.properties.sink != "kafka":
        return
    try:
        captured = list_captured(client, config)
    except SidecarError:
        return
    for found in _check_shared(config, topic_uses(config, captured)):
        message = f"{found.message} {found.remedy}"
        if found.level is Level.FAULT:
            raise ConfigError(message)
        logger.warning(message)


def _check_shared(config: MongoConfig, uses: list[TopicUse]) -> Iterator[Finding]:
    settings = config.properties.kafka_producer
    compacted = partial(compacted_topics, settings, timeout_s=ANSWER_S)
    return check_shared(uses, compacted, _APART, is_chosen=config.properties.is_topic_replaced)

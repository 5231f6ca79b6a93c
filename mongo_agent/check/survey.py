"""All checks in turn, before the agent runs or beside it. Nothing is changed."""

from collections.abc import Iterator
from typing import Any

from pymongo import MongoClient
from pymongo.errors import PyMongoError

from mongo_agent.capture.catalogue import list_collections
from mongo_agent.check.abilities import check_abilities
from mongo_agent.check.collections import check_collections
from mongo_agent.check.progress import check_progress
from mongo_agent.check.server import (
    check_answer,
    check_deployment,
    check_privileges,
    check_reading,
    check_streams,
)
from mongo_agent.config import MongoConfig, directory_problems
from mongo_agent.deployment import failed
from mongo_agent.plan import verdict
from sidecar.check.broker import check_broker
from sidecar.check.finding import Finding, fault, ok, warning

Client = MongoClient[Any]
_ANSWER_MS = 10_000


def run_checks(config: MongoConfig) -> Iterator[Finding]:
    """Each finding as it is made; asking a server or a broker that is away takes some seconds."""
    properties = config.properties
    for sentence in config.warnings:
        yield warning("configuration", sentence, "See docs/mongo-configuration.md.")
    topics: list[str] = []
    with MongoClient[Any](**config.client.prompt(_ANSWER_MS)) as client:
        yield from _check_server(client, config, topics)
    yield from _check_directories(config)
    if properties.sink == "kafka":
        yield from check_broker(properties, [*topics, *own_topics(config)])


def _check_server(client: Client, config: MongoConfig, topics: list[str]) -> Iterator[Finding]:
    """Fills `topics` with those that events will go to."""
    deployment, findings = check_answer(client, config)
    yield from findings
    if deployment is None:
        return
    yield from check_deployment(config, deployment)
    yield from check_abilities(config, deployment.version)
    yield from check_privileges(client, config, deployment)
    yield from check_streams(client, config)
    try:
        listed = list(list_collections(client, config.scopes))
    except PyMongoError as error:
        yield fault("collections", str(failed(error)), "See what is said of privileges.")
        return
    yield from check_collections(config, listed)
    captured = [each for each in listed if verdict(each, config).is_captured]
    topics += dict.fromkeys(config.topic_of(each.database, each.name) for each in captured)
    for first in captured[:1]:
        yield from check_reading(client, first.database, first.name)
    yield from check_progress(client, config, deployment)


def own_topics(config: MongoConfig) -> Iterator[str]:
    """Topics besides those of collections that something is sent to."""
    properties = config.properties
    if properties.provide_transaction_metadata:
        yield properties.transaction_topic_name
    if properties.heartbeat_interval_ms:
        yield properties.heartbeat_topic_name
    if properties.schema_changes_topic is not None:
        yield properties.schema_changes_topic
    if properties.position_store == "kafka":
        yield config.position_topic


def _check_directories(config: MongoConfig) -> Iterator[Finding]:
    problems = directory_problems(config)
    for problem in problems:
        yield fault(
            "directories",
            problem,
            "Make it, let this user read and write it, or name another one.",
        )
    if not problems:
        yield ok("directories", f"{config.properties.offset_directory} can be read and written.")

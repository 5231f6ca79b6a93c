"""The connection to MongoDB: the shard of this task, the client, and the identified deployment."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pymongo
from pymongo import MongoClient
from pymongo.errors import PyMongoError

from mongo_agent.change_stream.options import StreamOptions, detect_options
from mongo_agent.check.collections import enforce_limit
from mongo_agent.check.connection_diagnostics import diagnose
from mongo_agent.check.server_features import check_features
from mongo_agent.check.topic_names import require_separate_topics
from mongo_agent.config.loading import MongoConfig
from mongo_agent.config.shard_assignment import Assignment, assign_shard, config_at_shard
from mongo_agent.server.commands import Client
from mongo_agent.server.deployment import Deployment, deployment_error, discover
from mongo_agent.server.monitoring import ElectionCounter
from sidecar.check.check import Level
from sidecar.errors import AccessDeniedError, ConfigError, SidecarError, UnavailableError
from sidecar.logs import RateLimitedLog, fields
from sidecar.process.lifecycle import PartStop, Stop, Worker
from sidecar.process.wait_policy import Answered

logger = logging.getLogger(__name__)

_CLOSE_S = 2.0
_LOOK_S = 10.0
_LOGIN_S = 5.0

OnError = Callable[[str], None]
"""Receives why the agent waits for MongoDB; an empty string once the cause is resolved."""


@dataclass(frozen=True, slots=True)
class Server:
    """An identified server that supports the configuration."""

    client: Client
    deployment: Deployment
    options: StreamOptions
    """The stream options that it supports."""
    elections: ElectionCounter


def wait_for_shard(config: MongoConfig, stop: Stop, on_error: OnError) -> MongoConfig | None:
    """Wait until this task has a shard, if it needs one, and return the configuration for it.
    Return None if the agent stops first."""
    known = None

    def ask() -> Assignment:
        return assign_shard(config.reread(), round(_LOOK_S * 1000))

    while (found := _wait_for_answer(config, ask, stop, _LOOK_S, on_error)) is not None:
        if found.config is not None:
            shard = found.config.shard
            is_new = shard is not None and known is not None and shard not in known
            return config_at_shard(config, shard, is_new=True) if is_new and shard else found.config
        if known is None:
            logger.info("waiting for a shard", extra=fields(task=config.properties.task_id))
            known = found.shards
        stop.wait(config.properties.poll_interval_ms / 1000)
    return None


@contextmanager
def watch_login(config: MongoConfig, stop: Stop) -> Iterator[Stop]:
    """Yield a stop that is also requested when MongoDB accepts a new login from the configuration
    files, because an open client keeps its old login."""
    part = PartStop(stop)

    def watch(ended: threading.Event) -> None:
        while not ended.wait(_LOGIN_S):
            again = config.reread()
            if dict(again.properties) != dict(config.properties) and _is_accepted(again):
                logger.info("MongoDB accepts the new login; the agent connects with it")
                part.request()
                return

    try:
        with Worker("login", watch):
            yield part
    finally:
        part.close()


def _is_accepted(config: MongoConfig) -> bool:
    try:
        with MongoClient[Any](**config.client.prompt(round(_LOOK_S * 1000))) as client:
            discover(client)
    except (SidecarError, PyMongoError):
        return False
    return True


@contextmanager
def open_client(config: MongoConfig, elections: ElectionCounter) -> Iterator[Client]:
    client = MongoClient[Any](**config.client.options, event_listeners=[elections])
    try:
        yield client
    finally:
        # Closing ends the client's sessions, which blocks while the server is unavailable.
        closing = threading.Thread(target=_close, args=(client,), name="closing", daemon=True)
        closing.start()
        closing.join(_CLOSE_S)


def _close(client: Client) -> None:
    """Close a client. A server's wrong name of a cursor can make the first attempt fail."""
    try:
        client.close()
    except Exception:
        # The driver forgets the cursor at which it failed.
        client.close()


def wait_for_server(
    config: MongoConfig, client: Client, elections: ElectionCounter, stop: Stop, on_error: OnError
) -> Server | None:
    """Wait for the server; return None if the agent stops first. Raises ConfigError if the server
    does not support the configuration."""

    def ask() -> Server:
        deployment = discover(client)
        options = _require_support(config, client, deployment)
        enforce_limit(client, config)
        require_separate_topics(client, config)
        return Server(client, deployment, options, elections)

    look_s = min(_LOOK_S, client.options.server_selection_timeout)
    return _wait_for_answer(config, ask, stop, look_s, on_error)


def _require_support(config: MongoConfig, client: Client, deployment: Deployment) -> StreamOptions:
    problem = deployment_error(deployment, config.accepted_deployment, config.client.address)
    if problem is not None:
        raise ConfigError(problem)
    options = detect_options(client, config.scopes[0], config.stream, deployment.version)
    findings = check_features(config, deployment.version, options)
    lacking = [f"{each.message} {each.remedy}" for each in findings if each.level is Level.FAULT]
    if lacking:
        raise ConfigError(*lacking)
    return options


def _wait_for_answer(
    config: MongoConfig, ask: Callable[[], Answered], stop: Stop, look_s: float, on_error: OnError
) -> Answered | None:
    """Wait for MongoDB's answer; return None if the agent stops first. Retries as the back-off
    allows, and notices a stop between two attempts, which take at most `look_s`."""
    pause = config.new_pause()
    repeated = RateLimitedLog(logger)
    while not stop.requested:
        try:
            with pymongo.timeout(look_s):
                answer = ask()
        except (AccessDeniedError, UnavailableError) as error:
            cause = diagnose(error, config.client)
            pause_s = pause.failed(is_jittered=True)
            is_denied = isinstance(cause, AccessDeniedError) and config.properties.waits_when_denied
            if not is_denied and (pause.is_spent or not isinstance(cause, UnavailableError)):
                raise cause from error
            on_error(str(cause))
            repeated.log("connect", str(cause))
            stop.wait(pause_s)
            continue
        on_error("")
        repeated.resolved("connect", "MongoDB answers.")
        return answer
    return None

"""All checks of the MongoDB agent: for `mongo-agent check` and for a running agent."""

import os
from collections.abc import Callable, Iterable, Iterator

from mongo_agent.check.collections import check_collections
from mongo_agent.check.offsets import check_offsets
from mongo_agent.check.probe import ANSWER_S, MongoProbe
from mongo_agent.check.server import (
    check_answer,
    check_deployment,
    check_privileges,
    check_reading,
    check_shards,
    check_streams,
)
from mongo_agent.check.server_features import check_enabled_streams, check_features
from mongo_agent.check.topic_names import check_topic_names
from mongo_agent.config.addresses import SRV, string_options
from mongo_agent.config.loading import directory_problems
from mongo_agent.dead_letters import DIRECTORY, Quarantine
from mongo_agent.offsets.kafka_store import election_settings
from mongo_agent.server.deployment import Deployment
from sidecar.check.broker import broker_text, check_broker, check_topics
from sidecar.check.check import INTERVAL_S, Check, Finding, fault, ok
from sidecar.check.clear_text import Login, check_clear_text, shared_logins
from sidecar.check.environment import (
    check_configuration,
    check_directories,
    check_quarantine,
    check_sink,
    check_token,
    check_transform,
)
from sidecar.check.listener import check_address, check_host
from sidecar.check.schema_registry import check_registry, registry_text
from sidecar.errors import AccessDeniedError, SidecarError
from sidecar.leader_election.election import group_problem

_LISTING_S = 300.0
"""Interval for listings, which are expensive in large deployments."""


def check_standby(probe: MongoProbe) -> Iterator[Finding]:
    """Check that the agent can join its consumer group. There is no finding until MongoDB and the
    broker answer: the group name may depend on the deployment."""
    deployment = probe.deployment
    settings = None if deployment is None else election_settings(probe.config, deployment)
    if settings is None or probe.broker().error is not None:
        return
    problem = group_problem(settings.client, settings.group, settings.session_timeout_ms, ANSWER_S)
    if problem is None:
        message = f"The agent may join the consumer group {settings.group}."
        yield ok("group", message, code="group_usable")
    elif isinstance(problem, AccessDeniedError):
        remedy = "Grant Read on the group. Until then the agent does not deliver."
        yield fault("group", str(problem), remedy, code="group_access_denied")
    else:
        remedy = "Until then the agent exits with code 2."
        yield fault("group", str(problem), remedy, code="group_settings_invalid")


def _check_directories(probe: MongoProbe) -> Iterator[Finding]:
    usable = f"{probe.config.properties.offset_directory} is readable and writable."
    yield from check_directories(directory_problems(probe.config), usable)


def _check_quarantine(probe: MongoProbe) -> Iterator[Finding]:
    properties = probe.config.properties
    directory = properties.offset_directory / DIRECTORY
    yield from check_quarantine(Quarantine(directory, properties.quarantine_max_bytes, ""))


def _check_deployment(probe: MongoProbe, deployment: Deployment) -> Iterator[Finding]:
    yield from check_deployment(probe.config, deployment)
    yield from check_features(probe.config, deployment.version, probe.options())


def _check_collections(probe: MongoProbe, deployment: Deployment) -> Iterator[Finding]:
    found = probe.collections()
    if isinstance(found, SidecarError):
        remedy = "Grant `listCollections`; see the finding about privileges."
        yield fault("collections", str(found), remedy, code="collections_not_listed")
    else:
        yield from check_collections(probe.config, found)


def _check_reading(probe: MongoProbe, deployment: Deployment) -> Iterator[Finding]:
    for first in probe.captured[:1]:
        yield from check_reading(probe.client, first.database, first.name)


def _check_progress(probe: MongoProbe, deployment: Deployment) -> Iterator[Finding]:
    yield from check_offsets(probe.client, probe.config, deployment, probe.options())


def _check_registry(probe: MongoProbe) -> Iterator[Finding]:
    properties = probe.config.properties
    subject = f"{properties.topic_prefix}-value"
    yield from check_registry(properties.registries(), subject, probe.registrar())


def _server_text(probe: MongoProbe) -> str:
    return f"MongoDB at {probe.config.client.address} (at most {ANSWER_S:.0f} s)"


def _group_text(probe: MongoProbe) -> str:
    properties = probe.config.properties
    return broker_text(properties) if properties.standby_enabled else ""


def _identified(
    name: str,
    find: Callable[[MongoProbe, Deployment], Iterable[Finding]],
    *,
    interval_s: float = INTERVAL_S,
    runs_in_agent: bool = True,
) -> Check[MongoProbe]:
    """Create a check of a known deployment; the check `MongoDB` reports an unreachable server."""

    def found(probe: MongoProbe) -> Iterable[Finding]:
        deployment = probe.deployment
        return () if deployment is None else find(probe, deployment)

    return Check(
        name, found, server=_server_text, interval_s=interval_s, runs_in_agent=runs_in_agent
    )


def _credentials(probe: MongoProbe) -> Iterator[Finding]:
    properties, client = probe.config.properties, probe.config.client
    logins = list(shared_logins(properties, properties.registries(), os.environ))
    options = client.options
    uri = options["host"] if isinstance(options["host"], str) else ""
    if "username" in options or "@" in uri:
        has_tls = string_options(uri).get("tls", uri.startswith(SRV)) if uri else False
        logins.append(
            Login(
                "mongodb.connection.string" if uri else "mongodb.password",
                tuple(client.address.split(",")),
                bool(options.get("tls", has_tls)),
                "Set mongodb.ssl.enabled=true, or `tls=true` in mongodb.connection.string.",
            )
        )
    yield from check_clear_text(logins)


CHECKS: tuple[Check[MongoProbe], ...] = (
    Check(
        "configuration",
        lambda probe: check_configuration(probe.config.warnings, "mongo-agent"),
        interval_s=None,
    ),
    Check("event.transform", lambda probe: check_transform(probe.config.properties)),
    Check("http.token.file", lambda probe: check_token(probe.config.properties)),
    Check("credentials", _credentials, interval_s=None),
    Check("http", lambda probe: check_address(probe.config.properties), runs_in_agent=False),
    Check("http", lambda probe: check_host(probe.config.properties), runs_in_command=False),
    Check("sink", lambda probe: check_sink(probe.config.properties)),
    Check("directories", _check_directories),
    Check("quarantine", _check_quarantine),
    Check("MongoDB", check_answer, server=_server_text),
    _identified("deployment", _check_deployment),
    Check("shards", lambda probe: check_shards(probe.config), server=_server_text),
    _identified("privileges", check_privileges),
    _identified("change stream", check_streams, runs_in_agent=False),
    _identified("enabled streams", check_enabled_streams, interval_s=_LISTING_S),
    _identified("collections", _check_collections, interval_s=_LISTING_S),
    _identified("reading", _check_reading, runs_in_agent=False),
    _identified("position", _check_progress, runs_in_agent=False),
    Check("broker", check_broker, server=lambda probe: broker_text(probe.config.properties)),
    _identified("topic names", check_topic_names, interval_s=_LISTING_S),
    Check(
        "topics",
        check_topics,
        server=lambda probe: broker_text(probe.config.properties),
        interval_s=_LISTING_S,
    ),
    Check("group", check_standby, server=_group_text, interval_s=_LISTING_S),
    Check(
        "schema_registry",
        _check_registry,
        server=lambda probe: registry_text(probe.config.properties.registries()),
    ),
)
"""In output order: first this machine, then servers."""

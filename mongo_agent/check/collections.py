"""Checks of the captured collections: their number, and their pre- and post-images."""

import json
import logging
from collections.abc import Iterator, Sequence

from mongo_agent.check.capture_plan import CollectionPlan, list_captured, plan_of
from mongo_agent.config.loading import MongoConfig
from mongo_agent.server.catalogue import CollectionInfo, CollectionKind
from mongo_agent.server.commands import Client
from sidecar.check.check import Finding, fault, first_names, ok, warning
from sidecar.errors import ConfigError

logger = logging.getLogger(__name__)

_SHOWN = 8


def limit_violation(captured: int, config: MongoConfig) -> str | None:
    """Return an error if the agent captures more than `guardrail.collections.max` collections."""
    most = config.properties.guardrail_max
    if most == 0 or captured <= most:
        return None
    return (
        f"The agent captures {captured} collections; `guardrail.collections.max={most}` allows "
        "fewer. Narrow the lists (see `mongo-agent plan`) or raise the limit."
    )


def enforce_limit(client: Client, config: MongoConfig) -> None:
    """Count the collections and enforce the limit, if one is set.

    Raises ConfigError with `guardrail.collections.limit.action=fail`, and errors of `server_error`.
    """
    if config.properties.guardrail_max == 0:
        return
    message = limit_violation(len(list_captured(client, config)), config)
    if message is None:
        return
    if config.properties.guardrail_action == "fail":
        raise ConfigError(message)
    logger.warning(message)


def check_collections(config: MongoConfig, listed: Sequence[CollectionInfo]) -> Iterator[Finding]:
    verdicts = [plan_of(each, config) for each in listed]
    yield from _without_events(config, verdicts)
    captured = [each for each in verdicts if each.is_captured]
    there = sum(each.collection.kind is not CollectionKind.SYSTEM for each in verdicts)
    if not captured:
        # An empty deployment may get collections later; otherwise the lists exclude everything.
        found = fault if there else warning
        yield found(
            "collections",
            f"The agent captures none of the existing collections ({there}).",
            "Correct the include and exclude lists; `mongo-agent plan` shows the entry that "
            "excludes a collection."
            if there
            else "The agent captures new collections that the lists include.",
            code="no_collection_captured",
        )
        return
    in_snapshot = [each for each in captured if each.is_in_snapshot]
    yield ok(
        "collections",
        f"The agent captures {len(captured)} of {there} collections and snapshots "
        f"{len(in_snapshot)}: {_names(captured)}.",
    )
    message = limit_violation(len(captured), config)
    if message is not None:
        found, action = warning, "logs a warning and continues"
        if config.properties.guardrail_action == "fail":
            found, action = fault, "exits with code 2"
        remedy = f"Narrow the lists, or raise guardrail.collections.max; the agent {action}."
        yield found("collections", message, remedy, code="guardrail_exceeded")
    capped = [each for each in in_snapshot if each.collection.kind is CollectionKind.CAPPED]
    if capped:
        yield ok(
            "collections",
            f"Capped collections cannot be read at a cluster time: {_names(capped)}. Their "
            "snapshots are consistent only per document.",
        )
    yield from _without_images(config, captured)


def _without_events(config: MongoConfig, plans: Sequence[CollectionPlan]) -> Iterator[Finding]:
    """Name the views and time series that the lists include, with the reason of `plan`."""
    for kind in (CollectionKind.VIEW, CollectionKind.TIME_SERIES):
        found = [
            each
            for each in plans
            if each.collection.kind is kind
            and config.namespaces.captures(each.collection.database, each.collection.name)
        ]
        if found:
            yield ok(
                "collections", f"The agent does not capture {_names(found)}: {found[0].reason}."
            )


def _without_images(config: MongoConfig, captured: Sequence[CollectionPlan]) -> Iterator[Finding]:
    wanted = {
        "`before`": config.stream.full_document_before != "off",
        "`after` of updates": config.stream.full_document == "whenAvailable",
    }
    what = " and ".join(name for name, is_wanted in wanted.items() if is_wanted)
    lacking = [each for each in captured if not each.collection.has_images]
    if not what:
        return
    if not lacking:
        yield ok("images", "The server stores images for every captured collection.")
        return
    first = lacking[0].collection
    command = {"collMod": first.name, "changeStreamPreAndPostImages": {"enabled": True}}
    found = fault if len(lacking) == len(captured) else warning
    yield found(
        "images",
        f"{what} will be null for {len(lacking)} of {len(captured)} collections, because the "
        f"server stores no images for them: {_names(lacking)}.",
        f"For each: db.getSiblingDB({json.dumps(first.database)}).runCommand("
        f"{json.dumps(command)})",
        code="pre_images_disabled",
    )


def _names(verdicts: Sequence[CollectionPlan]) -> str:
    return first_names([each.collection.namespace for each in verdicts], _SHOWN)

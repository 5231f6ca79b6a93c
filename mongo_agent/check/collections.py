"""What is captured, and whether the server keeps what the agent is to tell of it."""

import json
from collections.abc import Iterator, Sequence

from mongo_agent.capture.catalogue import CollectionInfo
from mongo_agent.capture.collection_kind import CollectionKind
from mongo_agent.check.capture_plan import CollectionPlan, plan_of
from mongo_agent.check.guardrail import limit_violation
from mongo_agent.config import MongoConfig
from sidecar.check.finding import Finding, fault, ok, warning

_SHOWN = 8


def check_collections(config: MongoConfig, listed: Sequence[CollectionInfo]) -> Iterator[Finding]:
    """`listed` are those in the scopes."""
    verdicts = [plan_of(each, config) for each in listed]
    captured = [each for each in verdicts if each.is_captured]
    own = sum(each.collection.kind is CollectionKind.SYSTEM for each in verdicts)
    if not captured:
        there = len(listed) - own
        # Without any collection the first one may still come; with some the lists leave all out.
        found = fault if there else warning
        yield found(
            "collections",
            f"None of the {there} collections that are there is captured.",
            "Correct the lists of databases and collections; `mongo-agent plan` says which entry "
            "leaves a collection out."
            if there
            else "What is made later is captured when the lists let it pass.",
            code="no_collection_captured",
        )
        return
    copied = sum(each.is_copied for each in captured)
    yield ok(
        "collections",
        f"{len(captured)} of {len(listed) - own} collections are captured, {copied} are copied: "
        f"{_names(captured)}.",
    )
    sentence = limit_violation(len(captured), config)
    if sentence is not None:
        is_fatal = config.properties.guardrail_action == "fail"
        remedy = "Narrow the lists, or raise guardrail.collections.max; " + (
            "the agent ends with exit code 2." if is_fatal else "the agent warns and goes on."
        )
        found = fault if is_fatal else warning
        yield found("collections", sentence, remedy, code="guardrail_exceeded")
    capped = [
        each
        for each in captured
        if each.is_copied and each.collection.kind is CollectionKind.CAPPED
    ]
    if capped:
        yield ok(
            "collections",
            f"Capped collections cannot be read at a cluster time: {_names(capped)}; their copies "
            "are put in order by keys.",
        )
    yield from _without_images(config, captured)


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
        yield ok("images", "The server keeps them for every captured collection.")
        return
    first = lacking[0].collection
    command = {"collMod": first.name, "changeStreamPreAndPostImages": {"enabled": True}}
    found = fault if len(lacking) == len(captured) else warning
    yield found(
        "images",
        f"{what} will be null for {len(lacking)} of {len(captured)} collections, whose images the "
        f"server does not keep: {_names(lacking)}.",
        f"For each: db.getSiblingDB({json.dumps(first.database)}).runCommand("
        f"{json.dumps(command)})",
        code="images_missing",
    )


def _names(verdicts: Sequence[CollectionPlan]) -> str:
    names = [f"{each.collection.database}.{each.collection.name}" for each in verdicts]
    return ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")

"""The aggregation pipeline of a change stream: the agent's filter and `cursor.pipeline`."""

from collections.abc import Collection
from typing import Any, Literal

from mongo_agent.capture.match_stage import match_stage
from mongo_agent.capture.namespaces import Namespaces
from mongo_agent.documents import parse_extended_json

Order = Literal["internal_first", "user_first", "user_only"]
Stage = dict[str, Any]

ALLOWED = (
    "$addFields",
    "$match",
    "$project",
    "$redact",
    "$replaceRoot",
    "$replaceWith",
    "$set",
    "$unset",
)
"""The stages that a server accepts after `$changeStream`."""
NEEDED = ("_id", "operationType", "ns", "documentKey", "clusterTime")
"""Event fields that publishing and resuming require."""
_OBJECTS = ("$addFields", "$match", "$project", "$replaceRoot", "$set")
NATIVE_EVENTS = ("drop", "dropDatabase", "invalidate", "rename")
"""Types of events without a document, sent by every release."""
SCHEMA_EVENTS = (*NATIVE_EVENTS, "create", "createIndexes", "dropIndexes", "modify")
"""Event types of `topic.schema.changes`; all but `NATIVE_EVENTS` require MongoDB 6.0."""


def read_stages(text: str) -> list[Stage]:
    """Parse stages in extended JSON. Raises ValueError."""
    stages = parse_extended_json(text)
    if not isinstance(stages, list) or not all(isinstance(stage, dict) for stage in stages):
        raise ValueError("not a JSON array of objects")
    for stage in stages:
        name = next(iter(stage), "an empty object")
        if len(stage) != 1 or name not in ALLOWED:
            raise ValueError(
                f"each object must hold one stage of {', '.join(ALLOWED)}, as change streams "
                f"require; found {name}"
            )
        if name in _OBJECTS and not isinstance(stage[name], dict):
            raise ValueError(f"{name} requires an object, not {stage[name]!r}")
    return stages


def removed_field(stage: Stage) -> str | None:
    """Return a required field that the stage removes, or None."""
    ((name, content),) = stage.items()
    if name == "$unset":
        names = [content] if isinstance(content, str) else content
        removed = set(names) if isinstance(names, list) else set()
    elif name == "$project":
        removed = {field for field, value in content.items() if value in (0, False)}
        # An inclusive projection removes every other field except `_id`.
        if any(value in (1, True) for value in content.values()):
            removed |= set(NEEDED) - {"_id"} - content.keys()
    else:
        removed = set()
    return next((field for field in NEEDED if field in removed), None)


def ordered_stages(internal: list[Stage], user: list[Stage], order: Order) -> list[Stage]:
    match order:
        case "internal_first":
            return [*internal, *user]
        case "user_first":
            return [*user, *internal]
        case "user_only":
            return user or internal


def stream_pipeline(
    namespaces: Namespaces,
    operations: Collection[str],
    others: Collection[str],
    *,
    signal_collection: str | None = None,
    user_stages: str | None = None,
    order: Order = "internal_first",
) -> tuple[Stage, ...]:
    """Build the stages after `$changeStream`. `operations` are types of document events, `others`
    are types of other events; `user_stages` is a list in extended JSON.

    The agent's filter also passes inserts into `signal_collection`.
    """
    stage = match_stage(namespaces, operations, others)
    if signal_collection is not None:
        database, _, name = signal_collection.partition(".")
        signals = {"operationType": "insert", "ns.db": database, "ns.coll": name}
        stage = {"$match": {"$or": [stage["$match"], signals]}}
    users = [] if user_stages is None else read_stages(user_stages)
    return tuple(ordered_stages([stage], users, order))

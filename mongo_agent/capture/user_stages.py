"""Stages of people behind or in front of the agent's own: `cursor.pipeline`."""

from typing import Any, Literal

from mongo_agent.documents.extended_json import parse_extended_json

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
"""What a server takes behind `$changeStream`."""
NEEDED = ("_id", "operationType", "ns", "documentKey", "clusterTime")
"""Fields of a change event without which it cannot be published or resumed."""
_OBJECTS = ("$addFields", "$match", "$project", "$replaceRoot", "$set")


def read_stages(text: str) -> list[Stage]:
    """Stages in extended JSON. Raises ValueError with the reason."""
    stages = parse_extended_json(text)
    if not isinstance(stages, list) or not all(isinstance(stage, dict) for stage in stages):
        raise ValueError("it is no list of stages")
    for stage in stages:
        name = next(iter(stage), "an empty one")
        if len(stage) != 1 or name not in ALLOWED:
            raise ValueError(
                f"of the stages a change stream takes {', '.join(ALLOWED)}, one in each object, "
                f"and not {name}"
            )
        if name in _OBJECTS and not isinstance(stage[name], dict):
            raise ValueError(f"{name} takes an object, and not {stage[name]!r}")
    return stages


def removed_field(stage: Stage) -> str | None:
    """The field that the agent needs of each event and that a stage leaves out."""
    ((name, content),) = stage.items()
    if name == "$unset":
        names = [content] if isinstance(content, str) else content
        removed = set(names) if isinstance(names, list) else set()
    elif name == "$project":
        removed = {field for field, value in content.items() if value in (0, False)}
        # One that names what is kept drops everything else but `_id`.
        if any(value in (1, True) for value in content.values()):
            removed |= set(NEEDED) - {"_id"} - content.keys()
    else:
        removed = set()
    return next((field for field in NEEDED if field in removed), None)


def ordered_stages(internal: list[Stage], own: list[Stage], order: Order) -> list[Stage]:
    """The pipeline behind `$changeStream`."""
    match order:
        case "internal_first":
            return [*internal, *own]
        case "user_first":
            return [*own, *internal]
        case "user_only":
            return own or internal

"""Stages of people behind or in front of the agent's own: `cursor.pipeline`."""

from typing import Any, Literal

from mongo_agent.extended_json import read_extended

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


def read_stages(text: str) -> list[Stage]:
    """Stages in extended JSON. Raises ValueError with the reason."""
    stages = read_extended(text)
    if not isinstance(stages, list) or not all(isinstance(stage, dict) for stage in stages):
        raise ValueError("it is no list of stages")
    for stage in stages:
        name = next(iter(stage), "an empty one")
        if len(stage) != 1 or name not in ALLOWED:
            raise ValueError(
                f"of the stages a change stream takes {', '.join(ALLOWED)}, one in each object, "
                f"and not {name}"
            )
    return stages


def ordered(internal: list[Stage], own: list[Stage], order: Order) -> list[Stage]:
    """The pipeline behind `$changeStream`."""
    match order:
        case "internal_first":
            return [*internal, *own]
        case "user_first":
            return [*own, *internal]
        case "user_only":
            return own or internal

"""Stages of people behind or in front of the agent's own: `cursor.pipeline`."""

import json
from typing import Any, Literal

from bson import json_util
from bson.errors import BSONError

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
    try:
        stages = json_util.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"it is no JSON ({error.msg} at column {error.colno})") from error
    except (BSONError, TypeError, ValueError) as error:
        raise ValueError(f"it is no extended JSON ({error})") from error
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

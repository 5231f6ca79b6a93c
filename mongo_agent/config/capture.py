"""What is captured, and how the stream is read."""

import re
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator

from mongo_agent.capture import split_patterns
from mongo_agent.capture.user_stages import read_stages
from mongo_agent.change_stream.tokens import ClusterTime
from sidecar.properties import (
    NOTHING_NAMED,
    CommaList,
    LowerCase,
    Milliseconds,
    Properties,
    Unit,
    prop,
)

_SKIPPED = ("c", "u", "d", "t", "none")
_LATEST = "-1"
_TIME = re.compile(r"(\d+):(\d+)")
_SECOND = 1 << 32
_EARLIEST_S = 1_000_000_000
"""Seconds since 1970 in 2001, before there was MongoDB."""


def _split(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    patterns = split_patterns(value)
    if value.strip() and not patterns:
        raise ValueError(NOTHING_NAMED)
    return patterns


def _operations(values: tuple[str, ...]) -> tuple[str, ...]:
    unknown = [value for value in values if value not in _SKIPPED]
    if unknown:
        raise ValueError(
            "must be `none`, or a list of `c` (inserts), `u` (updates), `d` (deletes) and `t`; "
            f"`{unknown[0]}` is none of them"
        )
    if "none" in values and len(values) > 1:
        raise ValueError("must be `none` alone or a list without it")
    return values


def _lower_all(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(value.lower() for value in values)


def _cluster_time(value: Any) -> Any:
    """`seconds:increment`, or both in one number of 64 bits, as drivers write a timestamp."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    if text == _LATEST:
        return None
    match = _TIME.fullmatch(text)
    if match is not None and int(match[1]) < _SECOND and int(match[2]) < _SECOND:
        return ClusterTime(int(match[1]), int(match[2]))
    if text.isdecimal() and _SECOND <= int(text) < _EARLIEST_S * _SECOND:
        raise ValueError(
            "must be a cluster time as `seconds:increment`; as one number of 64 bits this is in "
            f"{datetime.fromtimestamp(int(text) // _SECOND, UTC).year}. A time in milliseconds is "
            "divided by 1000, with `:1` behind it"
        )
    if text.isdecimal() and _SECOND <= int(text) < _SECOND**2:
        return ClusterTime(int(text) // _SECOND, int(text) % _SECOND)
    raise ValueError(
        "must be a cluster time as `seconds:increment` or as one number of 64 bits, or -1"
    )


def _own_stages(value: str) -> str:
    try:
        read_stages(value)
    except ValueError as error:
        raise ValueError(f"must be a list of stages: {error}") from error
    return value


PatternList = Annotated[tuple[str, ...], BeforeValidator(_split), Unit("list, separated by commas")]
"""Patterns of names; a comma inside of brackets or behind a backslash belongs to its pattern."""


class CaptureProperties(Properties):
    """Which collections, which changes, and what is told of them."""

    database_include_list: PatternList = prop(
        "database.include.list",
        aliases=["database.whitelist"],
        default=(),
        doc="Regular expressions over names of databases, matched whole, in any case; only these "
        "are captured; a backslash is written twice, as in every properties file. Empty: all but "
        "`admin`, `config` and `local`.",
    )
    database_exclude_list: PatternList = prop(
        "database.exclude.list",
        aliases=["database.blacklist"],
        default=(),
        doc="The same; these are not captured. Not together with `database.include.list`.",
    )
    collection_include_list: PatternList = prop(
        "collection.include.list",
        aliases=["collection.whitelist"],
        default=(),
        doc="Regular expressions over `database.collection`, matched whole, in any case; only "
        "these collections are captured. Empty: all but `system.*`.",
    )
    collection_exclude_list: PatternList = prop(
        "collection.exclude.list",
        aliases=["collection.blacklist"],
        default=(),
        doc="The same; these are not captured. Not together with `collection.include.list`.",
    )
    filters_match_mode: Annotated[Literal["regex", "literal"], LowerCase] = prop(
        "filters.match.mode",
        default="regex",
        doc="`literal`: the lists hold names as they are, in their case.",
    )
    capture_scope: Annotated[Literal["deployment", "database", "collection"], LowerCase] = prop(
        "capture.scope",
        default="deployment",
        doc="At which level change streams are opened. Less than the deployment needs fewer "
        "privileges, and is told of the end of a collection or a database when it is dropped.",
    )
    capture_target: CommaList = prop(
        "capture.target",
        default=(),
        doc="The databases (`shop`) or collections (`shop.orders`) of such a scope; one stream "
        "each.",
    )
    capture_mode: Annotated[
        Literal[
            "change_streams",
            "change_streams_update_full",
            "change_streams_update_full_with_pre_image",
            "change_streams_with_pre_image",
        ],
        LowerCase,
    ] = prop(
        "capture.mode",
        default="change_streams_update_full",
        doc="What events hold besides the change. `…_update_full`: `after` of updates. "
        "`…_with_pre_image`: `before`, from collections with `changeStreamPreAndPostImages` "
        "(MongoDB 6.0).",
    )
    full_update_type: Annotated[Literal["lookup", "post_image"], LowerCase] = prop(
        "capture.mode.full.update.type",
        default="lookup",
        doc="Where `after` of updates comes from. `lookup`: the document as it is when the event "
        "is read, which may be newer. `post_image`: as it was behind the update, from collections "
        "with `changeStreamPreAndPostImages` (MongoDB 6.0); else null.",
    )
    capture_start_op_time: Annotated[
        ClusterTime | None, BeforeValidator(_cluster_time), Unit("cluster time")
    ] = prop(
        "capture.start.op.time",
        default=None,
        doc="Where the stream begins when no position is stored: `seconds:increment` of a cluster "
        "time, or one number of 64 bits. Not set, or -1: at present.",
    )
    skipped_operations: Annotated[
        CommaList, AfterValidator(_lower_all), AfterValidator(_operations)
    ] = prop(
        "skipped.operations",
        default=("t",),
        doc="Changes that are left out: `c` inserts, `u` updates and replacements, `d` deletes; "
        "`t` and `none` leave out nothing.",
    )
    cursor_max_await_time_ms: Milliseconds = prop(
        "cursor.max.await.time.ms",
        default=0,
        doc="How long a server waits for an event before it answers without one; 0: a second.",
    )
    oversize_handling: Annotated[Literal["fail", "skip", "split"], LowerCase] = prop(
        "cursor.oversize.handling.mode",
        default="split",
        doc="What becomes of an event larger than 16 MB. `split`: the server sends it in parts, "
        "from the first one that is met (MongoDB 6.0.9). `skip`: it is left out, counted and "
        "logged. `fail`: the agent ends.",
    )
    cursor_pipeline: Annotated[str, AfterValidator(_own_stages)] | None = prop(
        "cursor.pipeline",
        default=None,
        doc="Stages for the streams, a list in extended JSON such as "
        '`[{"$match": {"fullDocument.status": "paid"}}]`. What they leave out is not published; '
        "copies do not go through them (`snapshot.collection.filter.overrides` is for those). "
        "`_id`, `operationType`, `ns`, `documentKey` and `clusterTime` have to stay as they are.",
    )
    cursor_pipeline_order: Annotated[
        Literal["internal_first", "user_first", "user_only"], LowerCase
    ] = prop(
        "cursor.pipeline.order",
        default="internal_first",
        doc="Whether the filters of the lists stand in front of these stages, behind them, or are "
        "left to the agent alone, to which every change is sent then.",
    )
    guardrail_max: int = prop(
        "guardrail.collections.max",
        default=0,
        ge=0,
        doc="So many collections may be captured, as they are counted at a start; 0: any number.",
    )
    guardrail_action: Annotated[Literal["warn", "fail"], LowerCase] = prop(
        "guardrail.collections.limit.action",
        default="warn",
        doc="What is done when there are more: a line in the log, or the agent ends with exit "
        "code 2.",
    )
    max_batch_size: int | None = prop(
        "max.batch.size",
        default=None,
        ge=1,
        le=(1 << 31) - 1,
        doc="Events that a server puts into one answer. Not set: 5000, or 16 MB.",
    )

"""Properties of captured collections and change streams."""

from typing import Annotated, Literal

from mongo_agent.capture.namespaces import Namespaces
from mongo_agent.config.values import PatternList, Stages, StartTime, StartToken, optional
from sidecar.properties.model import Properties, prop
from sidecar.properties.types import CommaList, LowerCase, Milliseconds, words

AWAIT_MS = 1000
"""Default of `cursor.max.await.time.ms`."""


SkippedOperations = Annotated[
    CommaList,
    words(
        ("c", "u", "d", "t", "none"),
        "`none`, or a list of `c` (inserts), `u` (updates), `d` (deletes) and `t`",
    ),
]


class CaptureProperties(Properties):
    """Captured collections and changes, and the content of events."""

    database_include_list: PatternList = prop(
        "database.include.list",
        aliases=["database.whitelist"],
        default=(),
        doc="Regular expressions for whole database names, ignoring case; the agent captures only "
        "these databases. Write a backslash twice, as in every properties file. Defaults to all "
        "except `admin`, `config` and `local`.",
    )
    database_exclude_list: PatternList = prop(
        "database.exclude.list",
        aliases=["database.blacklist"],
        default=(),
        doc="Regular expressions for whole database names, ignoring case; the agent does not "
        "capture these databases. Cannot be combined with `database.include.list`.",
    )
    collection_include_list: PatternList = prop(
        "collection.include.list",
        aliases=["collection.whitelist"],
        default=(),
        doc="Regular expressions for whole `database.collection` names, ignoring case; the agent "
        "captures only these collections. Defaults to all except `system.*`.",
    )
    collection_exclude_list: PatternList = prop(
        "collection.exclude.list",
        aliases=["collection.blacklist"],
        default=(),
        doc="Regular expressions for whole `database.collection` names, ignoring case; the agent "
        "does not capture these collections. Cannot be combined with `collection.include.list`.",
    )
    filters_match_mode: Annotated[Literal["regex", "literal"], LowerCase] = prop(
        "filters.match.mode",
        default="regex",
        doc="`literal`: the include and exclude lists contain exact, case-sensitive names. "
        "`regex`: they contain regular expressions. Look-around and back references may take "
        "unbounded time; the agent warns about them.",
    )
    capture_scope: Annotated[Literal["deployment", "database", "collection"], LowerCase] = prop(
        "capture.scope",
        default="deployment",
        doc="Level at which the agent opens change streams. A scope below `deployment` needs "
        "fewer privileges. The agent reopens its stream if the collection or database is dropped.",
    )
    capture_target: CommaList = prop(
        "capture.target",
        default=(),
        doc="Databases (`shop`) or collections (`shop.orders`), as `capture.scope` requires; the "
        "agent opens one stream for each.",
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
        doc="Documents in events. `…_update_full` adds `after` to updates. `…_with_pre_image` "
        "adds `before`, for collections with `changeStreamPreAndPostImages` (MongoDB 6.0).",
    )
    full_update_type: Annotated[Literal["lookup", "post_image"], LowerCase] = prop(
        "capture.mode.full.update.type",
        default="lookup",
        doc="Source of `after` in updates. `lookup`: the current document when the server returns "
        "the event, which may be newer than the update. `post_image`: the document after the "
        "update, or null for collections without `changeStreamPreAndPostImages` (MongoDB 6.0).",
    )
    capture_start_op_time: StartTime = optional(
        "capture.start.op.time",
        doc="Cluster time at which the stream starts if no offset is stored: "
        "`seconds:increment`, or one 64-bit number. Defaults to now; -1 also means now.",
    )
    capture_start_token: StartToken | None = optional(
        "capture.start.token",
        doc="Resume token after which the stream starts if no offset is stored. Its forms: "
        "hexadecimal `_data`, JSON with `_data`, or BSON in base64, as in `resume_token` of "
        "Debezium's offsets. The server must accept it. Cannot be combined with "
        "`capture.start.op.time` or several streams.",
    )
    skipped_operations: SkippedOperations = prop(
        "skipped.operations",
        default=("t",),
        doc="Changes to skip: `c` inserts, `u` updates and replacements, `d` deletes; `t` and "
        "`none` skip nothing.",
    )
    cursor_max_await_time_ms: Milliseconds = prop(
        "cursor.max.await.time.ms",
        default=0,
        doc="Longest time that a server waits for an event before it returns an empty reply; 0 "
        "means one second.",
    )
    oversize_handling: Annotated[Literal["fail", "skip", "split"], LowerCase] = prop(
        "cursor.oversize.handling.mode",
        default="split",
        doc="Handling of events larger than 16 MB or the memory limit of MongoDB 9.0. `split`: the "
        "server sends large ones in parts (MongoDB 6.0.9, or 7.0 and later); the agent requests "
        "this after the first. `skip`: the agent skips, counts and logs them (MongoDB 4.4 and "
        "later). `fail`: it exits.",
    )
    cursor_pipeline: Stages | None = optional(
        "cursor.pipeline",
        doc='Aggregation stages for the streams, a list in extended JSON such as `[{"$match": '
        '{"fullDocument.status": "paid"}}]`. The agent does not publish events that they remove. '
        "Snapshots ignore them; use `snapshot.collection.filter.overrides`. The stages must keep "
        "`_id`, `operationType`, `ns`, `documentKey` and `clusterTime`.",
    )
    cursor_pipeline_order: Annotated[
        Literal["internal_first", "user_first", "user_only"], LowerCase
    ] = prop(
        "cursor.pipeline.order",
        default="internal_first",
        doc="Order of the `cursor.pipeline` stages and the agent's filter. `internal_first`: the "
        "filter first. `user_first`: the stages first. `user_only`: the server applies only the "
        "stages, and the agent filters the events itself.",
    )
    guardrail_max: int = prop(
        "guardrail.collections.max",
        default=0,
        ge=0,
        doc="Largest number of captured collections, counted at each start; 0 means no limit.",
    )
    guardrail_action: Annotated[Literal["warn", "fail"], LowerCase] = prop(
        "guardrail.collections.limit.action",
        default="warn",
        doc="Action if the collections exceed `guardrail.collections.max`. `warn`: the agent logs "
        "a warning. `fail`: it exits with code 2.",
    )
    max_batch_size: int | None = optional(
        "max.batch.size",
        ge=1,
        le=(1 << 31) - 1,
        doc="Largest number of events in one server reply, which holds at most 16 MB. Defaults to "
        "5000.",
    )

    def namespaces(self) -> Namespaces:
        """Create the include and exclude lists. Raises ValueError if they are invalid."""
        return Namespaces(
            self.database_include_list,
            self.database_exclude_list,
            self.collection_include_list,
            self.collection_exclude_list,
            self.filters_match_mode,
        )

"""Which change of a document is the later one, and how long deletes are remembered."""

from typing import Annotated, Literal

from sidecar.properties import LowerCase, Milliseconds, Properties, prop

OrderName = Literal["cluster-time", "topic"]

_WEEK_MS = 7 * 24 * 3600 * 1000


class MongoOptions(Properties):
    """`MongoOptions(order_by="topic")`."""

    order_by: Annotated[OrderName, LowerCase] = prop(
        "order.by",
        default="cluster-time",
        doc="What makes a change the later one: `cluster-time`, the time in `source.ts_ms`, then "
        "`source.ord`, whatever the order of the topic; `topic`, its place in the topic, for "
        "agents whose `source.ts_ms` is the wall clock of a primary, which an election can set "
        "back. Changes of one document must then stay in one partition.",
    )
    snapshot_margin_ms: Milliseconds = prop(
        "snapshot.margin.ms",
        default=60_000,
        doc="A document of a snapshot counts as this much older than `source.ts_ms` says, which "
        "may be the time of reading by another clock. A streamed change of that time outranks it.",
    )
    tombstone_retention_ms: Milliseconds = prop(
        "tombstone.retention.ms",
        default=_WEEK_MS,
        doc="How long a deleted document is remembered, so that an older change which comes "
        "again does not bring it back. At least the retention of the topics.",
    )

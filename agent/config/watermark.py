"""Properties of the watermark topic."""

from sidecar.properties.model import Properties, prop
from sidecar.properties.topic_names import TopicName
from sidecar.properties.types import Milliseconds


class WatermarkProperties(Properties):
    watermark_topic: TopicName = prop(
        "watermark.topic",
        default=None,
        doc="Topic for watermarks: up to which time Kafka has every write that this node logged, "
        "and what prevents it (docs/reference/watermarks.md). All agents of a cluster share it; "
        "give it `cleanup.policy=compact`. Not set: no watermarks. Not with `schema.file`.",
    )
    watermark_interval_ms: Milliseconds = prop(
        "watermark.interval.ms",
        default=10_000,
        gt=0,
        doc="Interval between two watermarks.",
    )
    watermark_sync_lag_ms: Milliseconds | None = prop(
        "watermark.sync.lag.ms",
        default=None,
        doc="Time after which the node has surely synced a logged write. Not set: 1.5 times the "
        "node's `commitlog_sync_period`, at least one second; 0 with `commitlog_sync: batch` or "
        "`group`, where the node acknowledges a write after the sync.",
    )

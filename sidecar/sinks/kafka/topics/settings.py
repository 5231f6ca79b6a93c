"""Validates settings of new topics (`topic.creation.default.*`)."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from sidecar.sinks.kafka.config.java_names import names

PREFIX = "topic.creation.default."

KNOWN = names(
    """
    partitions replication.factor cleanup.policy compression.gzip.level compression.lz4.level
    compression.type compression.zstd.level delete.retention.ms file.delete.delay.ms
    flush.messages flush.ms follower.replication.throttled.replicas index.interval.bytes
    leader.replication.throttled.replicas local.retention.bytes local.retention.ms
    max.compaction.lag.ms max.message.bytes message.downconversion.enable
    message.format.version message.timestamp.after.max.ms message.timestamp.before.max.ms
    message.timestamp.difference.max.ms message.timestamp.type min.cleanable.dirty.ratio
    min.compaction.lag.ms min.insync.replicas preallocate remote.copy.disable
    remote.log.copy.disable remote.log.delete.on.disable remote.storage.enable retention.bytes
    retention.ms segment.bytes segment.index.bytes segment.jitter.ms segment.ms
    unclean.leader.election.enable
    """
)
"""Topic settings of Kafka up to 4.1. Source: `org.apache.kafka.common.config.TopicConfig`."""

_CHOICES = {
    "cleanup.policy": ("compact", "delete"),
    "compression.type": ("gzip", "lz4", "none", "producer", "snappy", "uncompressed", "zstd"),
    "message.timestamp.type": ("CreateTime", "LogAppendTime"),
}
_CUTOFF = 0.8
"""Minimum similarity for a suggestion."""


def topic_setting_problems(settings: Mapping[str, str]) -> Iterator[str]:
    """Yield a message for each certain mistake; `settings` have no prefix."""
    for name, value in settings.items():
        if name in ("partitions", "replication.factor"):
            if not _is_count(value):
                yield f"`{PREFIX}{name}` must be a positive number or -1, not `{value}`."
        elif name in _CHOICES:
            parts = value.split(",") if name == "cleanup.policy" else [value]
            if not all(part.strip() in _CHOICES[name] for part in parts):
                allowed = ", ".join(_CHOICES[name])
                yield f"`{PREFIX}{name}` must be one of {allowed}, not `{value}`."
        elif name not in KNOWN and (nearest := _nearest(name)) is not None:
            yield (
                f"`{PREFIX}{name}` is not a topic setting; the nearest one is `{PREFIX}{nearest}`."
            )


def topic_setting_warnings(enabled: bool, settings: Mapping[str, str]) -> Iterator[str]:
    """Yield warnings about settings without effect, and names that only the broker may know."""
    if settings and not enabled:
        names = ", ".join(f"`{PREFIX}{name}`" for name in sorted(settings))
        yield f"{names} have no effect: set `topic.creation.enable=true`."
        return
    for name in sorted(settings.keys() - KNOWN):
        if _nearest(name) is None:
            yield (
                f"`{PREFIX}{name}` is not a topic setting of Apache Kafka. The agent sends it to "
                "the broker, which creates no topic if it does not know the setting."
            )


def _is_count(text: str) -> bool:
    text = text.strip()
    return text == "-1" or (text.isascii() and text.isdigit() and 0 < int(text) < 1 << 31)


def _nearest(name: str) -> str | None:
    return next(iter(get_close_matches(name, sorted(KNOWN), n=1, cutoff=_CUTOFF)), None)

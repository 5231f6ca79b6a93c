"""Properties of Debezium's connector that this agent renames or does not support.

The agent accepts Debezium's files: it accepts the default of an unsupported feature, rejects a
value that enables the feature, and warns about properties without effect.
"""

from collections.abc import Mapping
from typing import Annotated

from mongo_agent.config.values import optional
from sidecar.config import kafka_connect
from sidecar.properties.model import PassThrough, Properties, pass_through, prop
from sidecar.properties.types import ByteSize, kept

_PROVIDER = "io.debezium.connector.mongodb.connection.DefaultMongoDbAuthProvider"
_NO_CLASSES = "names a Java class; `authMechanism` in `mongodb.connection.string` replaces it"
_BACKOFF = "`connect.backoff.*` and `connect.max.attempts` control retries."
_NO_CONNECT = "the agent does not use Kafka Connect."
_NO_WRITES = "the agent never writes to MongoDB; it orders chunks by cluster time."
_RELATIONAL = (
    "it applies to relational databases; use `mongodb.hosts` or `mongodb.connection.string`"
)
_MODES = "the agent supports only the five values of `snapshot.mode`"


class DebeziumProperties(Properties):
    """Debezium's names for limits, and properties with one accepted value."""

    max_queue_size: int | None = optional(
        "max.queue.size",
        ge=1,
        doc="Debezium's name for `inflight.max.events`. Must be larger than `max.batch.size`.",
    )
    max_queue_size_in_bytes: ByteSize = prop(
        "max.queue.size.in.bytes",
        default=0,
        doc="Debezium's name for `inflight.max.bytes`; 0 means the value of `inflight.max.bytes`.",
    )
    authentication_class: Annotated[str, kept(_PROVIDER, _NO_CLASSES)] = prop(
        "mongodb.authentication.class",
        default=_PROVIDER,
        doc="Login provider; the agent accepts only the default.",
    )
    notification: PassThrough = pass_through(
        "notification.",
        doc="Accepted without effect: HTTP, metrics and the log report snapshot progress.",
    )


def _names(reason: str, names: str) -> dict[str, str]:
    """Map each of the space-separated `names` to the reason."""
    return dict.fromkeys(names.split(), reason)


INERT: Mapping[str, str] = {
    **{name: why for name, why in kafka_connect.INERT.items() if name != "tasks.max"},
    **_names(_NO_CONNECT, "tasks.max.enforce config.action.reload"),
    "header.converter": "headers are unconverted bytes.",
    **_names(
        "`event.processing.failure.handling.mode` controls failed events.",
        "errors.tolerance errors.log.enable errors.log.include.messages errors.retry.timeout "
        "errors.retry.delay.max.ms",
    ),
    **_names(
        "`position.store=kafka` writes events and offsets in one transaction.",
        "exactly.once.support exactly.once.source.support transaction.boundary "
        "transaction.boundary.interval.ms",
    ),
    **_names(
        "the key determines the partition, as in Java's producer.",
        "partitioner.class producer.partitioner.class producer.override.partitioner.class",
    ),
    "extended.headers.enabled": "docs/reference/mongodb-event-format.md describes the headers.",
    "plugin.path": _NO_CONNECT,
    **_names(
        "`position.store` and `offset.backing.store.dir` select the offset store.",
        "offset.storage offset.storage.file.filename offset.storage.topic offsets.storage.topic",
    ),
    "offset.flush.timeout.ms": "the agent waits until an offset is stored.",
    **_names("the agent publishes events immediately.", "poll.interval.ms streaming.delay.ms"),
    **_names(
        "the agent polls for signals continuously.",
        "signal.poll.interval.ms signal.kafka.poll.timeout.ms",
    ),
    **_names(
        "the content of the store shows its type.",
        "mongodb.ssl.truststore.type mongodb.ssl.keystore.type",
    ),
    "mongodb.poll.interval.sec": "the driver discovers members, and a mongos its shards.",
    "mongodb.connection.string.shard.params": "each shard's agent has its own connection string.",
    "connection.validation.timeout.ms": "use `mongodb.server.selection.timeout.ms`.",
    **_names(_BACKOFF, "errors.max.retries retriable.restart.connector.wait.ms"),
    "incremental.snapshot.watermarking.strategy": _NO_WRITES,
    "incremental.snapshot.allow.schema.changes": "documents have no schema.",
    "skip.messages.without.change": "it has no effect for MongoDB in Debezium either.",
    "sourceinfo.struct.maker": "`event.layout` selects the layout of `source`.",
    "cursor.oversize.skip.threshold": "`skip` skips only events that the server cannot send.",
    **_names(
        "Debezium does not extend keys of MongoDB documents either.",
        "topic.key.enforce.uniqueness topic.key.field.name topic.key.field.regex "
        "topic.key.field.replacement",
    ),
    "statistics.metrics.enabled": "lag is always a metric.",
    "event.converting.failure.handling.mode": "the agent converts no events.",
}


UNSUPPORTED: Mapping[str, str] = {
    **{
        name: kafka_connect.UNSUPPORTED[name]
        for name in ("bootstrap.servers", "topic.creation.groups")
    },
    "capture.start.timestamp": "use `capture.start.op.time`, as `seconds:increment`",
    "snapshot.mode.custom.name": _MODES,
    **{
        f"snapshot.mode.configuration.based.{name}": _MODES
        for name in (
            *("snapshot.data", "snapshot.schema", "start.stream"),
            *("snapshot.on.schema.error", "snapshot.on.data.error"),
        )
    },
    "heartbeat.action.query": "the agent never writes to MongoDB",
    **_names(
        f"{_RELATIONAL}, and `topic.prefix`",
        "database.hostname database.port database.user database.password database.dbname "
        "database.server.id database.server.name database.history.kafka.topic "
        "database.history.kafka.bootstrap.servers schema.history.internal.kafka.topic "
        "schema.history.internal.kafka.bootstrap.servers table.include.list table.exclude.list "
        "column.include.list column.exclude.list",
    ),
}
"""Rejected properties of Debezium and their replacements."""

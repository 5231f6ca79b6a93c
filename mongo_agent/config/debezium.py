"""What Debezium's connector has and this agent has not, or has under another name.

Files that were written for Debezium are taken as they are: the default of a feature that is not
here is accepted, a value that asks for the feature is refused with a reason, and a property that
changes nothing is accepted with a warning.
"""

from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator

from sidecar.config import kafka_connect
from sidecar.properties import ByteSize, PassThrough, Properties, pass_through, prop

_PROVIDER = "DefaultMongoDbAuthProvider"


def _provider(value: str) -> str:
    if not value.strip().endswith(_PROVIDER):
        raise ValueError(
            f"loads a class: it must be {_PROVIDER}; `mongodb.connection.string` takes "
            "`authMechanism`"
        )
    return value


class DebeziumProperties(Properties):
    """Features of Debezium's connector that are bounded here by other means, or kept at a value."""

    max_queue_size: int | None = prop(
        "max.queue.size",
        default=None,
        ge=1,
        doc="Another name of `inflight.max.events`. More than `max.batch.size`.",
    )
    max_queue_size_in_bytes: ByteSize = prop(
        "max.queue.size.in.bytes",
        default=0,
        doc="Another name of `inflight.max.bytes`; 0: what that says.",
    )
    authentication_class: Annotated[str, AfterValidator(_provider)] = prop(
        "mongodb.authentication.class",
        default=f"io.debezium.connector.mongodb.connection.{_PROVIDER}",
        doc="How the agent logs in; only the default.",
    )
    notification: PassThrough = pass_through(
        "notification.",
        doc="Accepted and not used: progress of copies is told by HTTP, metrics and the log.",
    )


UNUSED_PREFIXES: Mapping[str, str] = {"notification": "notification."}

_MEMBERS = "the driver follows the members by itself, and a mongos its shards."
_BACKOFF = "`connect.backoff.*` and `connect.max.attempts` say how often and how fast."
_OFFSETS = "`position.store` and `offset.backing.store.dir` say where the position is kept."
_NO_CONNECT = "there is no Kafka Connect here."
_FAILURES = "`event.processing.failure.handling.mode` says what becomes of an event that fails."
_AT_ONCE = "events are sent as soon as they come."
_NO_WRITES = "the agent never writes to MongoDB; a chunk has its exact place without it."
_KEYS = "keys of MongoDB's documents are not extended in Debezium either."

INERT: Mapping[str, str] = {
    **kafka_connect.INERT,
    **dict.fromkeys(
        ("tasks.max.enforce", "config.action.reload"), "there is no Kafka Connect here."
    ),
    "header.converter": "headers are bytes as they are.",
    **dict.fromkeys(
        (
            "errors.tolerance",
            "errors.log.enable",
            "errors.log.include.messages",
            "errors.retry.timeout",
            "errors.retry.delay.max.ms",
        ),
        _FAILURES,
    ),
    **dict.fromkeys(
        (
            "exactly.once.support",
            "exactly.once.source.support",
            "transaction.boundary",
            "transaction.boundary.interval.ms",
        ),
        "`position.store=kafka` writes events and position in one transaction.",
    ),
    **dict.fromkeys(
        (
            "partitioner.class",
            "producer.partitioner.class",
            "producer.override.partitioner.class",
        ),
        "the key decides the partition, as it does in Java's producer.",
    ),
    "extended.headers.enabled": "the headers are those of docs/reference/mongodb-event-format.md.",
    "plugin.path": _NO_CONNECT,
    "offset.storage": _OFFSETS,
    "offset.storage.file.filename": _OFFSETS,
    "offset.storage.topic": _OFFSETS,
    "offsets.storage.topic": _OFFSETS,
    "offset.flush.timeout.ms": "a save of the position is waited for.",
    "poll.interval.ms": _AT_ONCE,
    "streaming.delay.ms": _AT_ONCE,
    "signal.poll.interval.ms": "signals are looked for all the time.",
    "signal.kafka.poll.timeout.ms": "signals are looked for all the time.",
    "mongodb.poll.interval.ms": _MEMBERS,
    "mongodb.poll.interval.sec": _MEMBERS,
    "mongodb.connection.mode": "`mongodb.deployment` says what the agent may be connected to.",
    "mongodb.connection.string.shard.params": "a shard's agent has a connection string of its own.",
    "connection.validation.timeout.ms": "`mongodb.server.selection.timeout.ms` is that.",
    "errors.max.retries": _BACKOFF,
    "retriable.restart.connector.wait.ms": _BACKOFF,
    "incremental.snapshot.watermarking.strategy": _NO_WRITES,
    "incremental.snapshot.allow.schema.changes": "documents have no schema.",
    "skip.messages.without.change": "it has no effect on MongoDB in Debezium either.",
    "sourceinfo.struct.maker": "`event.layout` says how `source` looks.",
    "cursor.oversize.skip.threshold": "`skip` leaves out what the server cannot send, no more.",
    "topic.key.enforce.uniqueness": _KEYS,
    "topic.key.field.name": _KEYS,
    "topic.key.field.regex": _KEYS,
    "topic.key.field.replacement": _KEYS,
    "statistics.metrics.enabled": "lag is a metric anyway.",
    "event.converting.failure.handling.mode": "nothing is converted.",
}

_RELATIONAL = "it belongs to relational databases; `mongodb.hosts` or `mongodb.connection.string`"
_NO_TRANSFORMS = "there is no Kafka Connect that would run them; let a consumer do it"
_MODES = "the five values of `snapshot.mode` are those that there are"

REFUSED: Mapping[str, str] = {
    "capture.start.timestamp": "`capture.start.op.time` takes `seconds:increment`",
    "snapshot.mode.custom.name": _MODES,
    **dict.fromkeys(
        (
            f"snapshot.mode.configuration.based.{name}"
            for name in (
                "snapshot.data",
                "snapshot.schema",
                "start.stream",
                "snapshot.on.schema.error",
                "snapshot.on.data.error",
            )
        ),
        _MODES,
    ),
    "topic.creation.groups": "`topic.creation.default.*` is for all topics",
    "transforms": _NO_TRANSFORMS,
    "predicates": _NO_TRANSFORMS,
    "heartbeat.action.query": "the agent never writes to MongoDB",
    **dict.fromkeys(
        (
            "database.hostname",
            "database.port",
            "database.user",
            "database.password",
            "database.dbname",
            "database.server.id",
            "database.server.name",
            "database.history.kafka.topic",
            "database.history.kafka.bootstrap.servers",
            "schema.history.internal.kafka.topic",
            "schema.history.internal.kafka.bootstrap.servers",
            "table.include.list",
            "table.exclude.list",
            "column.include.list",
            "column.exclude.list",
        ),
        f"{_RELATIONAL} and `topic.prefix` say what this agent reads",
    ),
}
"""Known elsewhere, with what takes their place here."""

"""What Debezium's connector has and this release does not.

Files that were written for Debezium are taken as they are: the default of a feature that is not
here is accepted, a value that asks for the feature is refused with a reason, and a property that
changes nothing is accepted with a warning.
"""

from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator

from sidecar.config import kafka_connect
from sidecar.properties import PassThrough, Properties, kept, pass_through, prop

_TOPIC_STRATEGIES = ("SchemaTopicNamingStrategy", "DefaultTopicNamingStrategy")
_SOURCE_MAKER = "CassandraSourceInfoStructMaker"
_TOPICS = "changes the names of topics, which `event.transform` alone does here"


def _topic_strategy(value: str) -> str:
    if not value.strip().endswith(_TOPIC_STRATEGIES):
        raise ValueError(f"{_TOPICS}: it must be {_TOPIC_STRATEGIES[0]}")
    return value


def _source_maker(value: str) -> str:
    if not value.strip().endswith(_SOURCE_MAKER):
        raise ValueError(
            f"loads a class, and there is no JVM: it must be {_SOURCE_MAKER}; `event.transform` "
            "changes events"
        )
    return value


class DebeziumProperties(Properties):
    """Features of Debezium's connector: accepted at the value that this release keeps to."""

    topic_delimiter: Annotated[str, kept(".", _TOPICS)] = prop(
        "topic.delimiter",
        default=".",
        doc="Between the parts of a topic name; only `.`.",
    )
    topic_naming_strategy: Annotated[str, AfterValidator(_topic_strategy)] = prop(
        "topic.naming.strategy",
        default="io.debezium.schema.SchemaTopicNamingStrategy",
        doc="How topics are named; only the default.",
    )
    sourceinfo_struct_maker: Annotated[str, AfterValidator(_source_maker)] = prop(
        "sourceinfo.struct.maker",
        default=f"io.debezium.connector.cassandra.{_SOURCE_MAKER}",
        doc="What makes `source`; only the default, `source` has one form "
        "(docs/reference/event-format.md).",
    )
    kafka_consumer: PassThrough = pass_through(
        "kafka.consumer.", doc="Accepted and not used: the agent consumes nothing."
    )
    transfer_settings: PassThrough = pass_through(
        "commit.log.transfer.",
        doc="Settings of transfer classes other than those here: accepted and not used.",
    )
    heartbeat: PassThrough = pass_through(
        "heartbeat.", doc="Accepted and not used: there are no heartbeats."
    )
    signal: PassThrough = pass_through(
        "signal.", doc="Accepted and not used: there are no signals."
    )
    notification: PassThrough = pass_through(
        "notification.", doc="Accepted and not used: there are no notifications."
    )


UNUSED_PREFIXES: Mapping[str, str] = {
    "kafka_consumer": "kafka.consumer.",
    "transfer_settings": "commit.log.transfer.",
    "heartbeat": "heartbeat.",
    "signal": "signal.",
    "notification": "notification.",
}

_WINDOW = "`inflight.max.events` and `inflight.max.bytes` bound what is under way"
_WOKEN = "the agent is woken by changes and looks every `cdc.dir.poll.interval.ms`"
_FOLLOWED = "segments are always followed while the node writes them"

INERT: Mapping[str, str] = {
    **kafka_connect.INERT,
    "schema.name.adjustment.mode": "names of schemas in Avro are always such as it takes, and in "
    "JSON as they are.",
    "connector.name": "`topic.prefix` names the stream and `node.id` the agent.",
    "commit.log.relocation.dir.poll.interval.ms": "a finished segment goes at once.",
    "commit.log.real.time.processing.enabled": f"{_FOLLOWED}.",
    "commit.log.marked.complete.poll.interval.ms": f"{_WOKEN}.",
    "commit.log.processor.shutdown.timeout.seconds": "use `shutdown.timeout.ms`.",
    "max.offset.flush.size": "`offset.flush.interval.ms` alone says when progress is written.",
    "max.queue.size": f"{_WINDOW}.",
    "max.queue.size.in.bytes": f"{_WINDOW}.",
    "max.batch.size": f"{_WINDOW}.",
    "poll.interval.ms": f"{_WOKEN}.",
    "poll.dispatch.interval.ms": "batches are sent as soon as they are read.",
    "num.of.change.event.queues": "one reader keeps the order of events.",
    "event.order.guarantee.mode": "the order of a partition's events is always kept.",
    "latest.commit.log.only": "all segments are read, since leaving older ones out loses changes.",
    "skipped.operations": "Debezium's connector for Cassandra does not use it either.",
    "errors.max.retries": "a component that is away is waited for without end.",
    "topic.heartbeat.prefix": "there are no heartbeats.",
    "topic.heartbeat.name": "there are no heartbeats.",
    "topic.transaction": "there are no transactions in the log.",
    "provide.transaction.metadata": "there are no transactions in the log.",
}

_NO_TRANSFORMS = "there is no Kafka Connect that would run them; use `event.transform`"

REFUSED: Mapping[str, str] = {
    "transforms": _NO_TRANSFORMS,
    "predicates": _NO_TRANSFORMS,
    "topic.creation.groups": "`topic.creation.default.*` is for all topics",
}
"""Known elsewhere, with what takes their place here."""

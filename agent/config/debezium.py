"""Properties of Debezium's connector that this release does not support.

Files written for Debezium work unchanged. The agent accepts the default of an unsupported feature,
rejects values that need the feature, and ignores properties without effect, with a warning.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator

from sidecar.config import kafka_connect
from sidecar.properties.model import PassThrough, Properties, pass_through, prop

_TOPIC_STRATEGIES = ("SchemaTopicNamingStrategy", "DefaultTopicNamingStrategy")
_SOURCE_MAKER = "CassandraSourceInfoStructMaker"
_SOURCE_MAKER_OF_V1 = f"LegacyV1{_SOURCE_MAKER}"
_TOPICS = "changes topic names; use `event.transform` for that"


def _topic_strategy(value: str) -> str:
    if not value.strip().endswith(_TOPIC_STRATEGIES):
        raise ValueError(f"{_TOPICS}: it must be {_TOPIC_STRATEGIES[0]}")
    return value


def _topic_delimiter(value: object) -> object:
    if value == "_":
        raise ValueError("`_` maps different tables to one name; it must be `.` or `-`")
    return value


def _source_maker(value: str) -> str:
    if value.strip().rpartition(".")[2] not in (_SOURCE_MAKER, _SOURCE_MAKER_OF_V1):
        raise ValueError(
            f"loads a Java class, which the agent cannot run: it must be {_SOURCE_MAKER}; use "
            "`event.transform` to change events"
        )
    return value


class DebeziumProperties(Properties):
    """Unsupported features of Debezium's connector, with the values that the agent accepts."""

    topic_delimiter: Annotated[Literal[".", "-"], BeforeValidator(_topic_delimiter)] = prop(
        "topic.delimiter",
        default=".",
        doc="Separator between the parts of a topic name. Kafka rejects topics that differ only "
        "in `.` and `_`, such as the topics for `shop.order_items` and `shop_order.items`. "
        "With `-`, Kafka accepts the topics of all tables. A new separator results in new topics.",
    )
    topic_naming_strategy: Annotated[str, AfterValidator(_topic_strategy)] = prop(
        "topic.naming.strategy",
        default="io.debezium.schema.SchemaTopicNamingStrategy",
        doc="Naming of topics; only the default and `DefaultTopicNamingStrategy` are accepted.",
    )
    sourceinfo_struct_maker: Annotated[str, AfterValidator(_source_maker)] = prop(
        "sourceinfo.struct.maker",
        default=f"io.debezium.connector.cassandra.{_SOURCE_MAKER}",
        doc="Format of `source` (docs/reference/event-format.md): the default, or with "
        f"`event.layout=debezium-1.x` also `…{_SOURCE_MAKER_OF_V1}`.",
    )
    kafka_consumer: PassThrough = pass_through(
        "kafka.consumer.", doc="Accepted and ignored: the agent consumes no topics."
    )
    transfer_settings: PassThrough = pass_through(
        "commit.log.transfer.",
        doc="Settings that the agent passes to a Python class in `commit.log.transfer.class`. "
        "Otherwise ignored.",
    )
    heartbeat: PassThrough = pass_through(
        "heartbeat.",
        doc="Accepted and ignored: the agent sends no heartbeats; see `watermark.topic`.",
    )
    signal: PassThrough = pass_through(
        "signal.", doc="Accepted and ignored: use `agent snapshot start KEYSPACE.TABLE`."
    )
    notification: PassThrough = pass_through(
        "notification.", doc="Accepted and ignored: the agent sends no notifications."
    )

    @property
    def has_source_of_v1(self) -> bool:
        """Whether `sourceinfo.struct.maker` selects the format of Debezium 1.x."""
        return self.sourceinfo_struct_maker.strip().endswith(_SOURCE_MAKER_OF_V1)


_WINDOW = "use `inflight.max.events` and `inflight.max.bytes`"
_WOKEN = "the agent reacts to changes and scans every `cdc.dir.poll.interval.ms`"
_FOLLOWED = "the agent always reads segments while the node writes them"

INERT: Mapping[str, str] = {
    **kafka_connect.INERT,
    "schema.name.adjustment.mode": (
        "Avro schema names are always adjusted, JSON schema names never."
    ),
    "connector.name": "use `topic.prefix` and `node.id`.",
    "commit.log.relocation.dir.poll.interval.ms": "the agent moves a finished segment at once.",
    "commit.log.real.time.processing.enabled": f"{_FOLLOWED}.",
    "commit.log.marked.complete.poll.interval.ms": f"{_WOKEN}.",
    "commit.log.processor.shutdown.timeout.seconds": "use `shutdown.timeout.ms`.",
    "max.offset.flush.size": "use `offset.flush.interval.ms`.",
    "max.queue.size": f"{_WINDOW}.",
    "max.queue.size.in.bytes": f"{_WINDOW}.",
    "max.batch.size": f"{_WINDOW}.",
    "poll.interval.ms": f"{_WOKEN}.",
    "poll.dispatch.interval.ms": "the agent sends a batch as soon as it is read.",
    "num.of.change.event.queues": "the agent uses one reader, which keeps the order of events.",
    "event.order.guarantee.mode": "the agent always keeps the order of a partition's events.",
    "latest.commit.log.only": (
        "the agent reads all segments; skipping older ones would lose changes."
    ),
    "errors.max.retries": "the agent waits for an unavailable component without limit.",
    "topic.heartbeat.prefix": "the agent sends no heartbeats; see `watermark.topic`.",
    "topic.heartbeat.name": "the agent sends no heartbeats; see `watermark.topic`.",
    "topic.transaction": "the commit log has no transactions.",
    "provide.transaction.metadata": "the commit log has no transactions.",
}

_OTHER_DEFAULTS: Mapping[str, tuple[str, str, str]] = {
    "event_cells": ("event.cells", "adds `cells` to values", "false"),
    "kafka_partition_by": ("kafka.partition.by", "partitions by the partition key", "key"),
}


def cutover_warnings(properties: Properties, names: Iterable[str]) -> Iterator[str]:
    """Warn of defaults that change the messages of a file written for Debezium's connector.

    `names` are those of the file; a property without effect here shows its origin.
    """
    origin = next((each for each in names if each in INERT), None)
    found = [
        each for name, each in _OTHER_DEFAULTS.items() if name not in properties.model_fields_set
    ]
    if origin is None or not found:
        return
    yield (
        f"The file has `{origin}` of Debezium's connector. Unlike Debezium, the agent "
        f"{' and '.join(effect for _, effect, _ in found)}. For equal messages, set "
        f"{' and '.join(f'`{name}={value}`' for name, _, value in found)}."
    )

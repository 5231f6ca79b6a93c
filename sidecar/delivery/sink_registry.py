"""Sinks by their name in `sink=`.

A new kind of sink requires one module, one entry here, and one name in `SinkName`.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from sidecar.config.settings import SidecarProperties
from sidecar.errors import ConfigError
from sidecar.offsets.position_store import PositionRecords
from sidecar.sinks.base import Sink
from sidecar.sinks.file import FileSink
from sidecar.sinks.stdout import StdoutSink

if TYPE_CHECKING:
    from sidecar.sinks.kafka.client import ClientOptions
    from sidecar.sinks.kafka.transactions.sink import TransactionalKafkaSink


def _kafka(properties: SidecarProperties) -> Sink:
    from sidecar.sinks.kafka.sink import KafkaSink

    return KafkaSink(_client_options(properties))


def _client_options(properties: SidecarProperties) -> "ClientOptions":
    from sidecar.sinks.kafka.client import ClientOptions
    from sidecar.sinks.kafka.topics.metadata import topic_creation

    return ClientOptions(
        properties.kafka_producer,
        topic_creation(properties.topic_creation_enable, properties.topic_creation_default),
        properties.waits_when_denied,
        lambda: properties.reread().kafka_producer,
    )


def _file(properties: SidecarProperties) -> Sink:
    if properties.file_path is None:
        raise ConfigError("`file.path` must be set for the sink `file`.")
    return FileSink(properties.file_path)


SINKS: Mapping[str, Callable[[SidecarProperties], Sink]] = MappingProxyType(
    {"file": _file, "kafka": _kafka, "stdout": lambda properties: StdoutSink()}
)


def create_sink(properties: SidecarProperties) -> Sink:
    """Create the configured sink, not yet open. Raises ConfigError."""
    return SINKS[properties.sink](properties)


def sink_problems(properties: SidecarProperties) -> list[str]:
    """Return problems in the sink's settings that can be found without the broker."""
    if properties.sink != "kafka":
        return []
    from sidecar.sinks.kafka.client import settings_problems
    from sidecar.sinks.kafka.topics.metadata import topic_creation

    problems = settings_problems(properties.kafka_producer)
    try:
        topic_creation(properties.topic_creation_enable, properties.topic_creation_default)
    except ConfigError as error:
        problems.extend(error.problems)
    return problems


def create_transactional_sink(
    properties: SidecarProperties, records: PositionRecords, commit_interval_ms: int
) -> "TransactionalKafkaSink":
    """Create the sink `kafka`, which stores the positions with the events.

    A transaction is committed after `commit_interval_ms`, or at half of the limits for events in
    flight. Raises ConfigError.
    """
    from sidecar.sinks.kafka.transactions.contents import CommitRule
    from sidecar.sinks.kafka.transactions.sink import TransactionalKafkaSink

    return TransactionalKafkaSink(
        _client_options(properties),
        records,
        CommitRule(
            interval_s=commit_interval_ms / 1000,
            position_interval_s=properties.offset_flush_interval_ms / 1000,
            max_events=max(1, properties.inflight_max_events // 2),
            max_bytes=max(1, properties.inflight_max_bytes // 2),
        ),
    )

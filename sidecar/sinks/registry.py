"""Sinks by the name that `sink=` uses. A new kind of sink is one module and one entry here."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from sidecar.errors import ConfigError
from sidecar.settings import SidecarProperties
from sidecar.sinks.base import Sink

Factory = Callable[[SidecarProperties], Sink]


def _kafka(properties: SidecarProperties) -> Sink:
    from sidecar.sinks.kafka.producer import KafkaSink
    from sidecar.sinks.kafka.topics import topic_creation

    return KafkaSink(
        properties.kafka_producer,
        topic_creation(properties.topic_creation_enable, properties.topic_creation_default),
    )


def _file(properties: SidecarProperties) -> Sink:
    from sidecar.sinks.file import FileSink

    if properties.file_path is None:
        raise ConfigError("`file.path` must be set for the sink `file`.")
    return FileSink(properties.file_path)


def _stdout(properties: SidecarProperties) -> Sink:
    from sidecar.sinks.stdout import StdoutSink

    return StdoutSink()


_FACTORIES: Mapping[str, Factory] = MappingProxyType(
    {"file": _file, "kafka": _kafka, "stdout": _stdout}
)


def sink_names() -> tuple[str, ...]:
    return tuple(sorted(_FACTORIES))


def create_sink(properties: SidecarProperties) -> Sink:
    """The sink that the properties name, not yet open. Raises ConfigError."""
    return _FACTORIES[properties.sink](properties)

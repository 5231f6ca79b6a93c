"""Durable positions: the offset file, or a Kafka topic that is written with the events."""

from sidecar.offsets.properties_store import (
    FORMAT_VERSION,
    PropertiesStore,
    StoredOffsets,
    decode,
    encode,
)

__all__ = [
    "FORMAT_VERSION",
    "PropertiesStore",
    "StoredOffsets",
    "decode",
    "encode",
]

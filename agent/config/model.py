"""All properties of the agent in one model."""

from collections.abc import Mapping
from typing import ClassVar

from agent.config import debezium
from agent.config.capture import (
    AccordProperties,
    SegmentProperties,
    SnapshotProperties,
    WatermarkProperties,
)
from agent.config.debezium import DebeziumProperties
from agent.config.encoding import EncodingProperties
from agent.config.properties import EventProperties, NodeProperties
from sidecar.config import kafka_connect
from sidecar.config.settings import SidecarProperties
from sidecar.config.store import StoreProperties
from sidecar.properties.model import Properties

SERVICE_NAME = "cdc-sidecar-cassandra"

GROUPS: tuple[tuple[str, type[Properties]], ...] = (
    ("Events", EventProperties),
    ("Encoding of keys and values", EncodingProperties),
    ("Sink, offsets and process", SidecarProperties),
    ("Cassandra node", NodeProperties),
    ("Segments", SegmentProperties),
    ("Transactions of Accord (experimental)", AccordProperties),
    ("Remote stores", StoreProperties),
    ("Snapshots of existing rows", SnapshotProperties),
    ("Watermarks", WatermarkProperties),
    ("Unsupported features of Debezium's connector", DebeziumProperties),
)
"""Headings of the configuration reference, with their properties."""


# pydantic orders fields from the last base class to the first, which yields the order of GROUPS.
class AgentProperties(
    DebeziumProperties,
    WatermarkProperties,
    SnapshotProperties,
    StoreProperties,
    SegmentProperties,
    AccordProperties,
    NodeProperties,
    SidecarProperties,
    EncodingProperties,
    EventProperties,
):
    inert: ClassVar[Mapping[str, str]] = debezium.INERT
    unsupported: ClassVar[Mapping[str, str]] = {
        **kafka_connect.UNSUPPORTED,
        "event.oversized": (
            "an event that is too large becomes a dead letter with its whole value "
            "(docs/how-to/dead-letters.md)"
        ),
    }

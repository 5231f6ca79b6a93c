"""All properties of the MongoDB agent in one model."""

from collections.abc import Mapping
from typing import ClassVar

from mongo_agent.config import debezium
from mongo_agent.config.capture import CaptureProperties
from mongo_agent.config.connection import ConnectionProperties
from mongo_agent.config.converters import EncodingProperties
from mongo_agent.config.debezium import DebeziumProperties
from mongo_agent.config.events import EventProperties
from mongo_agent.config.offsets import PositionProperties
from mongo_agent.config.signals import SignalProperties
from mongo_agent.config.snapshot import SnapshotProperties
from sidecar.config.settings import SidecarProperties
from sidecar.properties import Properties

GROUPS: tuple[tuple[str, type[Properties]], ...] = (
    ("MongoDB", ConnectionProperties),
    ("What is captured", CaptureProperties),
    ("What is published", EventProperties),
    ("How keys and values are written", EncodingProperties),
    ("Where to, progress, and the process", SidecarProperties),
    ("Copying what is there", SnapshotProperties),
    ("Signals", SignalProperties),
    ("The position, and what may go wrong", PositionProperties),
    ("Of Debezium's connector and Kafka Connect", DebeziumProperties),
)
"""Headings of the manual with their properties."""


# The fields of a pydantic model stand in the order of its bases from the last to the first; this
# gives that of GROUPS.
class MongoProperties(
    DebeziumProperties,
    PositionProperties,
    SignalProperties,
    SnapshotProperties,
    SidecarProperties,
    EncodingProperties,
    EventProperties,
    CaptureProperties,
    ConnectionProperties,
):
    """What a properties file of the MongoDB agent may hold."""

    inert: ClassVar[Mapping[str, str]] = debezium.INERT
    refused: ClassVar[Mapping[str, str]] = debezium.REFUSED

"""The model of all properties of the MongoDB agent."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from mongo_agent.config import debezium
from mongo_agent.config.capture import CaptureProperties
from mongo_agent.config.connection import ConnectionProperties
from mongo_agent.config.converters import EncodingProperties
from mongo_agent.config.debezium import DebeziumProperties
from mongo_agent.config.events import EventProperties
from mongo_agent.config.offsets import PositionProperties
from mongo_agent.config.snapshot import SignalProperties, SnapshotProperties
from mongo_agent.config.transforms import TransformProperties
from sidecar.config.settings import SidecarProperties
from sidecar.properties.model import Properties

SERVICE_NAME = "cdc-sidecar-mongo"

GROUPS: tuple[tuple[str, type[Properties]], ...] = (
    ("MongoDB", ConnectionProperties),
    ("Capture", CaptureProperties),
    ("Events and topics", EventProperties),
    ("Transformations", TransformProperties),
    ("Converters", EncodingProperties),
    ("Sinks, offsets and process", SidecarProperties),
    ("Snapshots", SnapshotProperties),
    ("Signals", SignalProperties),
    ("Offsets, failures and warnings", PositionProperties),
    ("Debezium and Kafka Connect", DebeziumProperties),
)
"""Headings of the reference and their properties."""


# Pydantic orders fields from the last base to the first, so this results in the order of GROUPS.
class MongoProperties(
    DebeziumProperties,
    PositionProperties,
    SignalProperties,
    SnapshotProperties,
    SidecarProperties,
    EncodingProperties,
    TransformProperties,
    EventProperties,
    CaptureProperties,
    ConnectionProperties,
):
    inert: ClassVar[Mapping[str, str]] = debezium.INERT
    unsupported: ClassVar[Mapping[str, str]] = debezium.UNSUPPORTED

    @property
    def position_topic_name(self) -> str:
        return self.position_topic or self.topic_of("position")

    @property
    def signal_topic_name(self) -> str:
        return self.signal_topic or f"{self.topic_prefix}-signal"

    def pattern_lists(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Return pairs of property name and pattern list."""
        return (
            ("database.include.list", self.database_include_list),
            ("database.exclude.list", self.database_exclude_list),
            ("collection.include.list", self.collection_include_list),
            ("collection.exclude.list", self.collection_exclude_list),
            ("snapshot.include.collection.list", self.snapshot_include_list),
        )

    def own_topics(self) -> Iterator[tuple[str, str]]:
        """Yield the topics of the agent's own messages, as pairs of property name and topic."""
        if self.provide_transaction_metadata:
            name = "transaction.topic" if self.transaction_topic else "topic.transaction"
            yield name, self.transaction_topic_name
        if self.heartbeat_interval_ms:
            name = "topic.heartbeat.name" if self.heartbeat_name else "topic.heartbeat.prefix"
            yield name, self.heartbeat_topic_name
        if self.schema_changes_topic is not None:
            yield "topic.schema.changes", self.schema_changes_topic
        if self.position_store == "kafka":
            yield "position.topic", self.position_topic_name

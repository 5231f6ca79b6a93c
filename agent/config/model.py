"""All properties of the agent in one model."""

from collections.abc import Mapping
from typing import ClassVar

from agent.config import debezium
from agent.config.debezium import DebeziumProperties
from agent.config.encoding import EncodingProperties
from agent.config.properties import EventProperties, NodeProperties, SegmentProperties
from agent.config.snapshot import SnapshotProperties
from sidecar.config.settings import SidecarProperties
from sidecar.properties import Properties

GROUPS: tuple[tuple[str, type[Properties]], ...] = (
    ("What is published", EventProperties),
    ("How keys and values are written", EncodingProperties),
    ("Where to, progress, and the process", SidecarProperties),
    ("The node", NodeProperties),
    ("Segments", SegmentProperties),
    ("Rows that were there before", SnapshotProperties),
    ("Features of Debezium's connector that this release does not have", DebeziumProperties),
)
"""Headings of the manual with their properties."""


# The fields of a pydantic model stand in the order of its bases from the last to the first; this
# gives that of GROUPS.
class AgentProperties(
    DebeziumProperties,
    SnapshotProperties,
    SegmentProperties,
    NodeProperties,
    SidecarProperties,
    EncodingProperties,
    EventProperties,
):
    """What a properties file of the agent may hold."""

    inert: ClassVar[Mapping[str, str]] = debezium.INERT
    refused: ClassVar[Mapping[str, str]] = debezium.REFUSED

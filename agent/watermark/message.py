"""Creates the messages of the watermark topic (docs/reference/watermarks.md)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import orjson

from agent.schema import NodeIdentity
from agent.watermark.coverage import Coverage, CoverageStore
from agent.watermark.node_probe import NodeProbe, NodeWatch
from sidecar.events import Message
from sidecar.events.message_batch import MessageBatch

FORMAT_VERSION = 1
_KIND = b"watermark"


@dataclass(frozen=True, slots=True)
class Obstacle:
    """A cause that prevents the watermark from advancing."""

    code: str
    """Stable name (docs/reference/watermarks.md)."""
    message: str


@dataclass(frozen=True, slots=True)
class PlainSource:
    """The source of messages that do not come from a segment."""

    log: str
    """Prefix of the name of its dead-letter file."""
    name: str

    def __str__(self) -> str:
        return self.name


SCHEMA_START = PlainSource("schema", "schema at the first start")
WATERMARK = PlainSource("watermark", "watermark")


@dataclass(frozen=True, slots=True)
class PlainBatch(MessageBatch):
    """Messages that are not events, between two positions of their source."""

    content: Sequence[Message]
    start: int
    end: int
    last_write_ts_us: None = None

    def __len__(self) -> int:
        return len(self.content)

    @property
    def size_bytes(self) -> int:
        return sum(len(key) + len(value or b"") for _, key, value, _, _ in self.content)

    def position_after(self, events: int, /) -> int:
        return self.end if events == len(self.content) else self.start

    def messages(self, first: int, stop: int, /) -> Sequence[Message]:
        return self.content[first:stop]


@dataclass(frozen=True, slots=True)
class WatermarkSender:
    """Creates messages. The fields are the same in all messages of an agent."""

    topic: str
    topic_prefix: str
    interval_ms: int
    identity: NodeIdentity
    agent_version: str

    def batch(
        self,
        now_ms: int,
        coverage: Coverage | None,
        probe: NodeProbe | None,
        obstacles: Sequence[Obstacle],
    ) -> PlainBatch:
        """Creates one message. `coverage` and `probe` are None before the node's first answer."""
        node_id = self.identity.node_id
        key = orjson.dumps({"node_id": node_id})
        document: dict[str, Any] = {
            "version": FORMAT_VERSION,
            "ts_ms": now_ms,
            "node_id": node_id,
            "host_id": None if probe is None else probe.host_id,
            "cluster": self.identity.cluster_name,
            "data_center": self.identity.datacenter,
            "rack": self.identity.rack,
            "topic_prefix": self.topic_prefix,
            "agent_version": self.agent_version,
            "interval_ms": self.interval_ms,
            "complete_since_ms": None if coverage is None else coverage.since_ms,
            "complete_until_ms": None if coverage is None else coverage.until_ms,
            "gaps": [] if coverage is None else coverage.gaps,
            "sync_lag_ms": None if probe is None else probe.sync_lag_ms,
            "obstacles": obstacles,
            "hints": None if probe is None else probe.hints,
            "tables": {} if coverage is None else coverage.holdings.tables,
            "replication": [] if coverage is None else coverage.holdings.replication,
        }
        headers = [("cdc.kind", _KIND), ("cdc.source", node_id.encode())]
        partition_hash = crc32(key) & 0x7FFFFFFF
        message = (self.topic, key, orjson.dumps(document), headers, partition_hash)
        return PlainBatch([message], 0, 1)


@dataclass(frozen=True, slots=True)
class WatermarkParts:
    """The parts of the agent that the pipeline uses for watermarks."""

    sender: WatermarkSender
    probes: NodeWatch
    store: CoverageStore
    now_ms: Callable[[], int]
    """The clock of this machine, which is also the node's clock."""

"""Creates the messages of the watermark topic (docs/reference/watermarks.md)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import orjson

from agent.watermark.coverage import Coverage
from agent.watermark.node_probe import NodeProbe
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
class WatermarkSource:
    """The source of watermark messages, which do not come from a segment."""

    log = "watermark"

    def __str__(self) -> str:
        return "watermark"


class PlainBatch(MessageBatch):
    """Messages that are not events, between two positions of their source."""

    last_write_ts_us = None

    def __init__(self, messages: Sequence[Message], start: int, end: int) -> None:
        self._messages = messages
        self._start = start
        self._end = end

    def __len__(self) -> int:
        return len(self._messages)

    @property
    def size_bytes(self) -> int:
        return sum(len(key) + len(value or b"") for _, key, value, _, _ in self._messages)

    def position_after(self, events: int, /) -> int:
        return self._end if events == len(self._messages) else self._start

    def messages(self, first: int, stop: int, /) -> Sequence[Message]:
        return self._messages[first:stop]


@dataclass(frozen=True, slots=True)
class WatermarkSender:
    """Creates messages. The fields are the same in all messages of an agent."""

    topic: str
    topic_prefix: str
    interval_ms: int
    node_id: str
    cluster: str
    data_center: str | None
    rack: str | None
    agent_version: str

    def batch(
        self,
        now_ms: int,
        coverage: Coverage | None,
        probe: NodeProbe | None,
        obstacles: Sequence[Obstacle],
    ) -> PlainBatch:
        """Creates one message. `coverage` and `probe` are None before the node's first answer."""
        key = orjson.dumps({"node_id": self.node_id})
        document: dict[str, Any] = {
            "version": FORMAT_VERSION,
            "ts_ms": now_ms,
            "node_id": self.node_id,
            "host_id": None if probe is None else probe.host_id,
            "cluster": self.cluster,
            "data_center": self.data_center,
            "rack": self.rack,
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
        headers = [("cdc.kind", _KIND), ("cdc.source", self.node_id.encode())]
        partition_hash = crc32(key) & 0x7FFFFFFF
        message = (self.topic, key, orjson.dumps(document), headers, partition_hash)
        return PlainBatch([message], 0, 1)

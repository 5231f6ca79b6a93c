"""Events of a node's `cdc_raw`, read only with the parser, up to the last durable offset."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson

import commitlog
from agent.node.connection import NodeAddress
from agent.snapshot.connection import PageConnection
from agent.snapshot.range_reader import PageSize, RangeReader
from agent.snapshot.ring import whole_ring
from sidecar.fetch_size import Throttle
from tests.support.segments.skipping_reader import SkippingReader
from tests.support.servers.cassandra import CassandraNode

FORMAT = commitlog.EventFormat(topic_prefix="merge", cluster="lab", node_id="node")


@dataclass(frozen=True, slots=True)
class ReadEvent:
    """One event as JSON values."""

    topic: str
    value: dict[str, Any]
    headers: dict[str, str]


@dataclass(slots=True)
class CdcRawReader:
    """Reads segments up to the offsets in the node's index files."""

    node: CassandraNode
    schema: commitlog.Schema
    gaps: list[commitlog.Gap] = field(default_factory=list)
    _readers: dict[str, SkippingReader] = field(default_factory=dict)

    def read(self) -> list[ReadEvent]:
        """Events since the last call."""
        return [
            event
            for segment in self.node.cdc_segments()
            if segment.index_offset is not None
            for event in self._read_segment(
                str(segment.path), None if segment.is_completed else segment.index_offset
            )
        ]

    def _read_segment(self, path: str, limit: int | None) -> list[ReadEvent]:
        reader = self._readers.get(path)
        if reader is None:
            reader = SkippingReader(commitlog.SegmentReader(path))
            self._readers[path] = reader
        events: list[ReadEvent] = []
        while True:
            # The schema contains only the user's tables.
            batch, blocked = reader.read(self.schema, FORMAT, limit=limit, complete=limit is None)
            for line in batch.ndjson(0, len(batch)).splitlines():
                event = orjson.loads(line)
                events.append(ReadEvent(event["topic"], event["value"], event["headers"]))
            self.gaps += batch.gaps
            if blocked is not None:
                raise AssertionError(blocked.reason)
            if batch.stop == "end":
                return events


def snapshot_values(node: CassandraNode, schema: commitlog.Schema) -> Iterator[dict[str, Any]]:
    """The values of the events of every published table without counters."""
    address = NodeAddress([node.address.host], node.address.cql_port)
    connection = PageConnection(address, FORMAT.admits)
    try:
        has_element_times = connection.ring().has_element_times
        (ranged,) = whole_ring()
        for table in connection.tables():
            if not table.is_published or table.is_counter:
                continue
            encoder = commitlog.SnapshotEncoder(
                schema, table.table_id, FORMAT, element_times=has_element_times, started_us=0
            )
            # Small pages, so that pages split partitions.
            reader = RangeReader(
                connection,
                encoder,
                ranged,
                ranged.after,
                "ALL",
                PageSize(1 << 14, None),
                Throttle(None),
            )
            while not reader.is_done:
                batch = reader.read()
                for line in batch.ndjson(0, len(batch)).splitlines():
                    yield orjson.loads(line)["value"]
    finally:
        connection.close()

"""Events of a snapshot of a node's tables, made with the encoder alone."""

from collections.abc import Iterator
from typing import Any

import orjson

import commitlog
from agent.node.connection import NodeAddress
from agent.snapshot.connection import PageConnection
from agent.snapshot.range_reader import PageSize, RangeReader, Throttle
from agent.snapshot.ring import whole_ring
from tests.oracle.merge.cdc_raw import FORMAT
from tests.support.servers.cassandra import CassandraNode


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
                schema,
                table.table_id,
                FORMAT,
                element_times=has_element_times,
                started_us=0,
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

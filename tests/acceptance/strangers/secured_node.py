"""A node that authorizes and masks, and asks its own tests for a login."""

from pathlib import Path

from cassandra.cluster import Session

from tests.support.node.cassandra_logins import LOGINS, logged_in
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings

SEGMENT_MIB = 64
LARGEST_CELL_BYTES = (SEGMENT_MIB << 20) // 2 - (64 << 10)
"""Cassandra takes mutations of half a segment."""

_YAML = {
    **LOGINS,
    "dynamic_data_masking_enabled": True,
    "native_transport_max_frame_size": f"{SEGMENT_MIB}MiB",
    "column_value_size_fail_threshold": None,
}


class SecuredNode(CassandraNode):
    """`with SecuredNode(directory) as node:`; its sessions are those of the superuser."""

    def __init__(self, directory: Path) -> None:
        settings = NodeSettings(
            commitlog_segment_mib=SEGMENT_MIB,
            commitlog_total_mib=16 * SEGMENT_MIB,
            cdc_total_mib=16 * SEGMENT_MIB,
            commitlog_sync_period_ms=200,
            heap_mib=768,
            yaml=_YAML,
        )
        super().__init__(directory, settings=settings)

    def connect(self) -> Session:
        session = logged_in(self)
        self._clusters.append(session.cluster)
        return session

"""The servers of a campaign: a broker and a session for all rounds, a node once it is needed."""

from contextlib import ExitStack
from functools import cached_property
from pathlib import Path

from cassandra.cluster import Session
from pyspark.sql import SparkSession

from tests.support.node.cassandra_logins import LOGINS, logged_in
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings
from tests.support.servers.kafka import KafkaBroker
from tests.support.spark.reserved_words import reserved_words
from tests.support.spark.session import fetched_jars, local_session, quiet_java_options

LARGEST_MESSAGE_BYTES = 64 << 20
_SEGMENT_MIB = 64
LARGEST_CELL_BYTES = (_SEGMENT_MIB << 20) // 2 - (64 << 10)
"""Cassandra takes mutations of half a segment."""


class _SecuredNode(CassandraNode):
    """A node that authorizes and masks. Its sessions are those of the superuser."""

    def __init__(self, directory: Path) -> None:
        settings = NodeSettings(
            commitlog_segment_mib=_SEGMENT_MIB,
            commitlog_total_mib=16 * _SEGMENT_MIB,
            cdc_total_mib=16 * _SEGMENT_MIB,
            commitlog_sync_period_ms=200,
            heap_mib=768,
            yaml={
                **LOGINS,
                "dynamic_data_masking_enabled": True,
                "native_transport_max_frame_size": f"{_SEGMENT_MIB}MiB",
                "column_value_size_fail_threshold": None,
            },
        )
        super().__init__(directory, settings=settings)

    def connect(self) -> Session:
        session = logged_in(self)
        self._clusters.append(session.cluster)
        return session


class Servers(ExitStack):
    """`with Servers(directory) as servers:`; all end with the block."""

    def __init__(self, directory: Path) -> None:
        super().__init__()
        self._directory = directory
        properties = {
            "message.max.bytes": str(LARGEST_MESSAGE_BYTES),
            "replica.fetch.max.bytes": str(LARGEST_MESSAGE_BYTES),
            "socket.request.max.bytes": str(2 * LARGEST_MESSAGE_BYTES),
        }
        broker = KafkaBroker(directory / "kafka", properties=properties, heap_mib=768)
        self.broker = self.enter_context(broker)

    @cached_property
    def spark(self) -> SparkSession:
        options = quiet_java_options(self._directory)
        session = local_session(fetched_jars(), options, self._directory / "lake", "3g")
        self.callback(session.stop)
        return session

    @cached_property
    def node(self) -> CassandraNode:
        return self.enter_context(_SecuredNode(self._directory / "node"))

    @cached_property
    def reserved(self) -> list[str]:
        """Names of columns that the formats have for themselves."""
        return reserved_words(self.spark)

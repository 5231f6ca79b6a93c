"""Rows that mark the end of writes: an agent that has sent them has sent the writes before them."""

from collections.abc import Collection

import orjson

from tests.support.servers.kafka import KafkaRecord
from tests.support.workloads.scenario import create_keyspace

HINTED = "cluster.hinted"
"""Has the last write while a node is down, once through each other node."""


def marker_table(replicas: int) -> tuple[str, ...]:
    """The statements that create the table."""
    return (
        create_keyspace(HINTED.split(".")[0], replicas),
        f"CREATE TABLE {HINTED} (coordinator int PRIMARY KEY) WITH cdc = true",
    )


def insert_marker(number: int) -> str:
    return f"INSERT INTO {HINTED} (coordinator) VALUES ({number})"


def logged_markers(records: Collection[KafkaRecord]) -> set[tuple[str, int]]:
    """Node and marker of each record."""
    return {
        (
            dict(record.headers)["cdc.source"].decode().split("/")[0],
            int(orjson.loads(record.key or b"{}")["coordinator"]),
        )
        for record in records
    }


def is_in_all_logs(records: Collection[KafkaRecord], nodes: int) -> bool:
    """Whether each marker of the topic comes from every node."""
    logged = logged_markers(records)
    return len(logged) == nodes * len({marker for _, marker in logged})

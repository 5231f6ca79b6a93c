"""Rows that mark the end of writes: an agent that has sent a marker has sent all earlier writes."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import orjson
from cassandra import (
    InvalidRequest,
    OperationTimedOut,
    ReadFailure,
    ReadTimeout,
    Unavailable,
    WriteFailure,
    WriteTimeout,
)
from cassandra.cluster import NoHostAvailable

from tests.oracle.merge.writes import Write
from tests.support.servers.kafka import KafkaRecord
from tests.support.workloads.scenario import create_keyspace

HINTED = "cluster.hinted"
"""Table with the last write while a node is down, once through each other node."""


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
    """Whether every node has each marker of the topic."""
    logged = logged_markers(records)
    return len(logged) == nodes * len({marker for _, marker in logged})


_UNANSWERED = (
    *(OperationTimedOut, ReadTimeout, WriteTimeout, ReadFailure, WriteFailure),
    *(Unavailable, NoHostAvailable),
)


@dataclass(slots=True)
class Counts:
    """Outcomes of the statements."""

    written: int = 0
    rejected: int = 0
    """Statements with the index of a missing list element."""
    unanswered: Counter[str] = field(default_factory=Counter)
    """Statements with a timeout or failure, by error. They may be written or not."""

    def record(self, write: Write, future: Any) -> None:
        """Wait for the answer to a write and count it."""
        try:
            future.result()
            self.written += 1
        except InvalidRequest:
            if not write.may_be_rejected:
                raise
            self.rejected += 1
        except _UNANSWERED as error:
            self.unanswered[f"{type(error).__name__}: {error}"[:200]] += 1

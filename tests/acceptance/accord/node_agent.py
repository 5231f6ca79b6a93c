"""An agent that captures the transactions of one node into a file."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cassandra import ConsistencyLevel
from cassandra.query import SimpleStatement

from tests.support.servers.agent_process import AgentProcess
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings

VERSION = "6.0-alpha2"


def accord_settings(**journal: object) -> NodeSettings:
    """A node with Accord that starts again after SIGKILL; `journal` are settings of the journal."""
    return NodeSettings(
        storage_compatibility_mode="NONE",
        commitlog_sync_period_ms=100,
        heap_mib=640,
        yaml={
            "accord": {
                "enabled": True,
                "journal": {"stop_marker_failure_policy": "ALLOW_UNSAFE_STARTUP", **journal},
            }
        },
    )


class NodeAgent(AgentProcess):
    """The agent of a node, with its events in a file."""

    def __init__(self, directory: Path, node: CassandraNode) -> None:
        self.events = directory / "events.ndjson"
        self.relocation = directory / "relocation"
        for folder in (directory / "offsets", self.relocation):
            folder.mkdir(parents=True)
        super().__init__(
            "agent",
            directory,
            {
                "topic.prefix": "accord",
                "sink": "file",
                "file.path": self.events,
                "cassandra.config": node.yaml,
                "cdc.raw.directory": node.cdc_raw,
                "commit.log.relocation.dir": self.relocation,
                "offset.backing.store.dir": directory / "offsets",
                "snapshot.mode": "never",
                "cdc.dir.poll.interval.ms": 1000,
                "accord.journal.enabled": "true",
            },
        )

    def delivered(self) -> list[dict[str, Any]]:
        """The events, whole lines only."""
        if not self.events.exists():
            return []
        text = self.events.read_bytes()
        return [json.loads(line) for line in text[: text.rfind(b"\n") + 1].splitlines()]

    def wait_for(self, table: str, key: int) -> None:
        """Waits for the event of a row that was written last."""

        def has_arrived() -> bool:
            return any(
                event["value"]["source"]["table"] == table
                and event["value"]["after"]["id"]["value"] == key
                for event in self.delivered()
            )

        self.wait_until(has_arrived, f"the row {key} of {table}")

    def conditions(self) -> set[str]:
        """Codes of the conditions that `/health` shows."""
        document = self.ask("/health") or {}
        return {condition["code"] for condition in document.get("conditions", ())}


def execute(node: CassandraNode, statement: str) -> None:
    """At QUORUM: Accord rejects the driver's LOCAL_ONE."""
    level = ConsistencyLevel.QUORUM
    node.session().execute(SimpleStatement(statement, consistency_level=level))


def ids(events: Iterable[dict[str, Any]]) -> set[str]:
    return {event["headers"]["cdc.id"] for event in events}

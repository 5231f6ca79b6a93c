"""An agent that captures the transactions of one node to a file."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cassandra import ConsistencyLevel
from cassandra.query import SimpleStatement

from tests.support.node.snapshot_agent import Agent
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings

VERSION = "6.0-alpha2"


def accord_settings(**journal: object) -> NodeSettings:
    """Node with Accord that can restart after SIGKILL; `journal` are settings of the journal."""
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


def agent_of(node: CassandraNode, directory: Path) -> Agent:
    return Agent(
        node,
        directory,
        topic_prefix="accord",
        snapshot_mode="never",
        cdc_dir_poll_interval_ms=1000,
        accord_journal_enabled="true",
    )


def wait_for_row(agent: Agent, key: int) -> None:
    """Wait for the event of the account that was written last."""

    def has_arrived() -> bool:
        return any(
            event["value"]["source"]["table"] == "accounts"
            and event["value"]["after"]["id"]["value"] == key
            for event in agent.events()
        )

    agent.process.wait_until(has_arrived, f"the row {key}")


def execute(node: CassandraNode, statement: str) -> None:
    """At QUORUM: Accord rejects the driver's LOCAL_ONE."""
    level = ConsistencyLevel.QUORUM
    node.session().execute(SimpleStatement(statement, consistency_level=level))


def ids(events: Iterable[dict[str, Any]]) -> set[str]:
    return {event["headers"]["cdc.id"] for event in events}

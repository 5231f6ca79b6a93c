"""An agent beside a real node, with a file for a sink."""

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import orjson

from agent.config.loader import SNAPSHOT_FILE
from agent.snapshot.offsets import snapshot_offsets_from_entries
from sidecar.offsets.properties_store import PropertiesStore
from tests.support.agents.agent_command import agent as command
from tests.support.servers.agent_process import AgentProcess
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.processes import DEADLINE_S as DEADLINE_S


class Agent:
    """The agent of the node, with a file sink."""

    def __init__(self, node: CassandraNode, directory: Path, **properties: object) -> None:
        self.directory = directory
        for name in ("offsets", "relocation"):
            (directory / name).mkdir(parents=True)
        self.out = directory / "out.ndjson"
        self.process = AgentProcess(
            "agent",
            directory,
            {
                "topic.prefix": "x",
                "cassandra.config": node.yaml,
                "cdc.raw.directory": node.cdc_raw,
                "offset.backing.store.dir": directory / "offsets",
                "commit.log.relocation.dir": directory / "relocation",
                "commit.log.transfer.class": "archive",
                "sink": "file",
                "file.path": self.out,
                "snapshot.scan.interval.ms": 300,
                **{name.replace("_", "."): value for name, value in properties.items()},
            },
        )

    def events(self, *, is_snapshot: bool | None = None) -> list[dict[str, Any]]:
        """Delivered events, whole lines only."""
        if not self.out.exists():
            return []
        lines = self.out.read_bytes().split(b"\n")[:-1]
        found = [orjson.loads(line) for line in lines]
        return [
            each
            for each in found
            if is_snapshot in (None, each["value"]["source"]["snapshot"] == "true")
        ]

    def saved_percent(self, table: str) -> float:
        """What the next start does not copy again."""
        entries = PropertiesStore(self.directory / "offsets", SNAPSHOT_FILE).load().values
        saved = snapshot_offsets_from_entries(entries, entries.get("node.id", ""))
        return 100 * sum(each.ratio for each in saved.tables.values() if each.table == table)

    def copy_of(self, table: str) -> dict[str, Any]:
        """How far a table is; empty while it is not known."""
        document = self.process.ask("/snapshot") or {"tables": []}
        tables = [each for each in document["tables"] if each["table"] == table]
        return tables[0] if tables else {}

    def wait_for(self, table: str, state: str) -> dict[str, Any]:
        self.process.wait_until(
            lambda: self.copy_of(table).get("state") == state, f"{table} {state}"
        )
        return self.copy_of(table)

    def conditions(self) -> set[str]:
        """The codes of the present conditions; `none` while it does not answer."""
        health = self.process.ask("/health")
        return {"none"} if health is None else {each["code"] for each in health["conditions"]}

    def has_stored(self, state: str) -> bool:
        """Whether the snapshot of a table has this state in the agent's file."""
        path = self.directory / "offsets" / SNAPSHOT_FILE
        return path.exists() and f".state={state}\n" in path.read_text()

    def post(self, verb: str, table: str) -> str:
        """The agent's answer; empty while it does not answer."""
        body = json.dumps({"table": table}).encode()
        request = urllib.request.Request(
            f"{self.process.url}/snapshot/{verb}", body, {"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=DEADLINE_S) as answer:
                return str(json.load(answer)["message"])
        except urllib.error.HTTPError as error:
            with error:
                return str(json.load(error)["message"])
        except OSError:
            return ""

    def snapshot(self, *arguments: str) -> tuple[int, str]:
        outcome = command("snapshot", *arguments, "--config", self.process.configuration)
        return outcome.exit_code, outcome.output + outcome.errors


def keys(events: list[dict[str, Any]], table: str) -> list[str]:
    topic = f"x.{table}"
    return [json.dumps(each["key"]) for each in events if each["topic"] == topic]

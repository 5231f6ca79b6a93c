"""The agent as a separate process that is started, killed and queried over HTTP."""

import re
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

from agent.config.loader import OFFSET_FILE
from sidecar.offsets.properties_store import PropertiesStore
from tests.acceptance.kill.checks import COMPLETED, AgentRun
from tests.support.servers.agent_process import AgentProcess
from tests.support.servers.processes import DEADLINE_S

WINDOW_EVENTS = 800


class Agent(AgentProcess):
    """Consecutive agent processes with the same directories; `runs` records each."""

    def __init__(
        self,
        directory: Path,
        *,
        node_yaml: Path,
        bootstrap: str,
        settings: Mapping[str, object] | None = None,
    ) -> None:
        """`settings` are additional or replaced properties."""
        self.directory = directory
        self.archive = directory / "relocation" / "archive"
        self.quarantine = directory / "relocation" / "error"
        self._offsets = directory / "offsets"
        self.runs: list[AgentRun] = []
        for folder in (self._offsets, self.archive):
            folder.mkdir(parents=True)
        properties = {
            "topic.prefix": "kill",
            "cassandra.config": node_yaml,
            "kafka.producer.bootstrap.servers": bootstrap,
            "commit.log.relocation.dir": directory / "relocation",
            "commit.log.transfer.class": "archive",
            "offset.backing.store.dir": self._offsets,
            "inflight.max.events": WINDOW_EVENTS,
            # The log is the reference for each event; other tests cover snapshots.
            "snapshot.mode": "never",
            **(settings or {}),
        }
        super().__init__("agent", directory, properties)

    def start(self, flush_interval_ms: int = 0) -> None:
        """Start a process without waiting for its first delivery."""
        number = len(self.runs)
        self.runs.append(AgentRun(number, _now_ms(), "running", flush_interval_ms, {}))
        self.launch(f"offset.flush.interval.ms={flush_interval_ms}")

    def kill(self) -> None:
        super().kill()
        self._note_end("killed")

    def stop(self) -> None:
        super().stop()
        self._note_end("stopped")

    def has_drained(self) -> bool:
        """Whether it has nothing to read, send or store."""
        self.require_running()
        health, offsets = self.ask("/health"), self.ask("/offsets")
        if health is None or offsets is None or "sink" not in health["components"]:
            return False
        parts = health["components"]
        return bool(
            parts["sink"]["unacknowledged_events"] == 0
            and parts["cdc_raw"]["lag_bytes"] == 0
            and offsets["stored"] == offsets["reached"]
        )

    def has_no_unacknowledged_events(self) -> bool:
        """Whether the broker has acknowledged every event that the agent has read."""
        self.require_running()
        sink = (self.ask("/health") or {"components": {}})["components"].get("sink")
        return sink is not None and sink["unacknowledged_events"] == 0

    def wait_until_drained(self, deadline_s: float = DEADLINE_S) -> None:
        self.wait_until(self.has_drained, "the agent to drain")

    def acknowledged_events(self) -> int:
        """Events acknowledged for this process so far; 0 while it does not answer."""
        found = re.search(rb"^cdc_events_acknowledged_total (\S+)", self.get("/metrics"), re.M)
        return int(float(found[1])) if found else 0

    def _note_end(self, end: Literal["killed", "stopped"]) -> None:
        self.runs[-1] = replace(self.runs[-1], end=end, stored=self._stored())

    def _stored(self) -> Mapping[int, int]:
        values = PropertiesStore(self._offsets, OFFSET_FILE).load().values
        return {
            int(name.removesuffix(".log").rpartition("-")[2]): (
                COMPLETED if value == "COMPLETED" else int(value)
            )
            for name, value in values.items()
            if name.startswith("CommitLog-")
        }


def _now_ms() -> int:
    return time.time_ns() // 1_000_000

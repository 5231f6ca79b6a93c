"""The HTTP client of the command line for signals."""

from collections.abc import Mapping
from typing import Any

from mongo_agent.signals.signal import SignalResult
from sidecar.cli.agent_client import AgentClient


class SignalClient(AgentClient):
    def send(self, kind: str, data: Mapping[str, Any]) -> SignalResult:
        found = self.post("/signals", {"type": kind, "data": data})
        return SignalResult(bool(found.get("accepted")), str(found.get("message")))

    def snapshots(self) -> Mapping[str, Mapping[str, Any]]:
        """The progress of snapshots, by stream."""
        streams = self.get("/snapshot").get("streams")
        return streams if isinstance(streams, dict) else {}

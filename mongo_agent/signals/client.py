"""What the command line asks of a running agent."""

from collections.abc import Mapping
from typing import Any

from mongo_agent.signals.signal import SignalResult
from sidecar.cli.agent_client import AgentClient


class SignalClient(AgentClient):
    """Signals, and how far copies are."""

    def send(self, kind: str, data: Mapping[str, Any]) -> SignalResult:
        """A signal, and the answer to it."""
        found = self.post("/signals", {"type": kind, "data": data})
        return SignalResult(bool(found.get("accepted")), str(found.get("sentence")))

    def copies(self) -> Mapping[str, Mapping[str, Any]]:
        """How far copies are, by stream."""
        streams = self.get("/snapshot").get("streams")
        return streams if isinstance(streams, dict) else {}

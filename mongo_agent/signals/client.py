"""What the command line asks of a running agent, over its HTTP."""

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

from mongo_agent.signals.signal import Answer
from sidecar.errors import UnavailableError

_TIMEOUT_S = 30.0
_EVERYWHERE = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "[::1]"}


class AgentClient:
    """`url` is that of the agent, `token` what it wants of those who change something. Its methods
    raise `UnavailableError`."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self._url = url.rstrip("/")
        self._token = token

    @classmethod
    def at(cls, host: str, port: int, token: str | None = None) -> "AgentClient":
        """The agent that is bound to an address, on this machine."""
        shown = _EVERYWHERE.get(host, f"[{host}]" if ":" in host else host)
        return cls(f"http://{shown}:{port}", token)

    def send(self, kind: str, data: Mapping[str, Any]) -> Answer:
        """A signal, and the answer to it."""
        body = json.dumps({"type": kind, "data": data}).encode()
        headers = {"Content-Type": "application/json"}
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        found = self._reply(urllib.request.Request(f"{self._url}/signals", body, headers))
        return Answer(bool(found.get("accepted")), str(found.get("sentence")))

    def copies(self) -> Mapping[str, Mapping[str, Any]]:
        """How far copies are, by stream."""
        streams = self._reply(urllib.request.Request(f"{self._url}/snapshot")).get("streams")
        return streams if isinstance(streams, dict) else {}

    def _reply(self, request: urllib.request.Request) -> Mapping[str, Any]:
        try:
            # An agent is on this machine or near: no proxy stands between.
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            try:
                with opener.open(request, timeout=_TIMEOUT_S) as reply:
                    found = json.load(reply)
            except urllib.error.HTTPError as error:
                # A refusal is an answer, and has its sentence in the body.
                with error:
                    found = json.load(error)
        except (OSError, ValueError) as error:
            raise UnavailableError(
                f"No agent answers at {self._url}: {error}. Start it, or name another one by --url."
            ) from error
        if not isinstance(found, dict):
            raise UnavailableError(f"What answers at {self._url} is no agent of MongoDB.")
        return found

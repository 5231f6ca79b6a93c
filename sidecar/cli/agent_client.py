"""The HTTP client of the command line for a running agent."""

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any, Self

from sidecar.cli.invocation import Invocation
from sidecar.errors import UnavailableError
from sidecar.http.address import local_url
from sidecar.http.token import read_token

_TIMEOUT_S = 60.0


class AgentClient:
    """Requests to an agent at `url`, with its `token`. Answers are JSON objects; methods raise
    `UnavailableError` otherwise."""

    def __init__(
        self, url: str, token: str | None = None, *, timeout_s: float = _TIMEOUT_S
    ) -> None:
        self.url = url.rstrip("/")
        self._token = token
        self._timeout_s = timeout_s

    @classmethod
    def of(
        cls, invocation: Invocation[Any], url: str | None, *, timeout_s: float = _TIMEOUT_S
    ) -> Self:
        """A client for the agent at `url`, or with the configuration, with its token. Raises
        ConfigError."""
        if url is not None and not invocation.files:
            return cls(url, timeout_s=timeout_s)
        properties = invocation.config().properties
        file = properties.http_token_file
        token = read_token(file) if file is not None else None
        if url is not None:
            return cls(url, token, timeout_s=timeout_s)
        address = local_url(properties.http_host, properties.http_port)
        return cls(address, token, timeout_s=timeout_s)

    def get(self, path: str) -> Mapping[str, Any]:
        """GET a page."""
        return self._answer(urllib.request.Request(f"{self.url}{path}"))

    def post(self, path: str, document: Mapping[str, Any]) -> Mapping[str, Any]:
        """POST a document; a rejection is an answer too."""
        headers = {"Content-Type": "application/json"}
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        body = json.dumps(document).encode()
        return self._answer(urllib.request.Request(f"{self.url}{path}", body, headers))

    def _answer(self, request: urllib.request.Request) -> Mapping[str, Any]:
        try:
            # The agent is local or nearby, so no proxy is used.
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            try:
                with opener.open(request, timeout=self._timeout_s) as reply:
                    found = json.load(reply)
            except urllib.error.HTTPError as error:
                # A rejection has its reason in the body.
                with error:
                    found = json.load(error)
        except (OSError, ValueError) as error:
            raise UnavailableError(
                f"No agent answers at {self.url}: {_reason(error)}. Start it, or name another "
                "one with --url."
            ) from error
        if not isinstance(found, dict):
            raise UnavailableError(f"The server at {self.url} is not an agent. Correct --url.")
        return found


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, ValueError):
        return "the answer is not JSON"
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    return (cause.strerror if isinstance(cause, OSError) else None) or str(cause)

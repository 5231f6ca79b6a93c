"""The HTTP client of the command line for a running agent."""

import functools
import json
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any, Self

import click

from sidecar.cli.invocation import Invocation
from sidecar.errors import ConfigError, UnavailableError
from sidecar.fleet.target import DEFAULT_PORT, parse_target
from sidecar.http.address import local_url
from sidecar.http.token import read_token

_TIMEOUT_S = 60.0
_HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class AgentAddress:
    """The address of a running agent by the options of a command; None: not given."""

    url: str | None = None
    host: str | None = None
    port: int | None = None

    def resolve(self, invocation: Invocation[Any]) -> str:
        """The URL: of the options, else of the configuration, else of this machine. Raises
        ConfigError."""
        if self.url is not None:
            if self.host is not None or self.port is not None:
                raise ConfigError("Use either --url, or --host and --port.")
            try:
                return parse_target(self.url).url
            except ValueError as error:
                raise ConfigError(f"--url: {error}.") from error
        host, port = _HOST, DEFAULT_PORT
        if invocation.files:
            properties = invocation.config().properties
            host, port = properties.http_host, properties.http_port
        return local_url(self.host or host, port if self.port is None else self.port)


def address_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--url`, `--host` and `--port`; the command gets them as `address`."""

    @functools.wraps(command)
    def with_address(
        *arguments: Any, url: str | None, host: str | None, port: int | None, **options: Any
    ) -> Any:
        return command(*arguments, address=AgentAddress(url, host, port), **options)

    default = "Default: `{}` of --config, else {}."
    for option in (
        click.option("--port", type=int, help="Port. " + default.format("http.port", DEFAULT_PORT)),
        click.option("--host", help="Host of the agent. " + default.format("http.host", _HOST)),
        click.option("--url", help="URL of the agent, instead of --host and --port."),
    ):
        with_address = option(with_address)
    return with_address


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
        cls, invocation: Invocation[Any], address: AgentAddress, *, timeout_s: float = _TIMEOUT_S
    ) -> Self:
        """A client for the agent at the address, with the token of the configuration. Raises
        ConfigError."""
        url = address.resolve(invocation)
        file = invocation.config().properties.http_token_file if invocation.files else None
        token = read_token(file) if file is not None else None
        return cls(url, token, timeout_s=timeout_s)

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
        except (OSError, HTTPException, ValueError) as error:
            raise UnavailableError(
                f"No agent answers at {self.url}: {_reason(error)}. Start it, or name another "
                "one with --url, --host and --port, or --config."
            ) from error
        if not isinstance(found, dict):
            raise UnavailableError(
                f"The server at {self.url} is not an agent. Correct the address."
            )
        return found


def _reason(error: OSError | HTTPException | ValueError) -> str:
    if isinstance(error, HTTPException):
        return "the answer is not HTTP"
    if isinstance(error, ValueError):
        return "the answer is not JSON"
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    return (cause.strerror if isinstance(cause, OSError) else None) or str(cause)

"""The HTTP client that commands use to query a running agent."""

import functools
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import click

from sidecar.bounded_json import bounded_json
from sidecar.cli.invocation import Invocation
from sidecar.errors import ConfigError, UnavailableError
from sidecar.fleet.request import Access, get, printable
from sidecar.fleet.target import DEFAULT_PORT, parse_target
from sidecar.http.address import local_url
from sidecar.http.token import read_token

_TIMEOUT_S = 60.0
_HOST = "127.0.0.1"
_MAX_ANSWER_BYTES = 4 << 20
"""Enough for the progress of 10,000 tables."""
_MAX_VALUES = 200_000


@dataclass(frozen=True, slots=True)
class AgentAddress:
    """The agent's address from a command's options; None for an option that is not given."""

    url: str | None = None
    host: str | None = None
    port: int | None = None

    def resolve(self, invocation: Invocation[Any]) -> str:
        """Build the URL from the options, else from the configuration, else for this machine.
        Raises ConfigError."""
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
    """Add `--url`, `--host` and `--port`; the command receives them as `address`."""

    @functools.wraps(command)
    def with_address(
        *arguments: Any, url: str | None, host: str | None, port: int | None, **options: Any
    ) -> Any:
        return command(*arguments, address=AgentAddress(url, host, port), **options)

    default = "Default: `{}` from --config, else {}."
    for option in (
        click.option("--port", type=int, help="Port. " + default.format("http.port", DEFAULT_PORT)),
        click.option("--host", help="Host of the agent. " + default.format("http.host", _HOST)),
        click.option("--url", help="URL of the agent, instead of --host and --port."),
    ):
        with_address = option(with_address)
    return with_address


class AgentClient:
    """Sends requests to the agent at `url`. Methods return JSON objects without control characters,
    or raise `UnavailableError`."""

    def __init__(
        self, url: str, access: Access | None = None, *, timeout_s: float = _TIMEOUT_S
    ) -> None:
        """`access` contains the token, which is sent only with POST requests."""
        self.url = url.rstrip("/")
        self._access = access or Access()
        self._timeout_s = timeout_s

    @classmethod
    def of(
        cls, invocation: Invocation[Any], address: AgentAddress, *, timeout_s: float = _TIMEOUT_S
    ) -> Self:
        """Create a client for the agent at the address, with the configured token. Raises
        ConfigError."""
        url = address.resolve(invocation)
        properties = invocation.config().properties if invocation.files else None
        file = None if properties is None else properties.http_token_file
        if properties is None or file is None:
            return cls(url, timeout_s=timeout_s)
        headers = {"Authorization": f"Bearer {read_token(file)}"}
        users = _users(file, properties.offset_directory)
        return cls(url, Access(headers, users=users), timeout_s=timeout_s)

    def get(self, path: str) -> Mapping[str, Any]:
        return self._answer(path, Access(), None)

    def post(self, path: str, document: Mapping[str, Any]) -> Mapping[str, Any]:
        """POST a document and return the answer, even if it is a rejection."""
        parts = urlsplit(self.url)
        if self._access.headers and parts.scheme == "http" and not _is_local(str(parts.hostname)):
            print(
                f"warning: the token is sent to {parts.hostname} without encryption. Use an https "
                "proxy for the agent, or run the command on its machine.",
                file=sys.stderr,
            )
        return self._answer(path, self._access, json.dumps(document).encode())

    def _answer(self, path: str, access: Access, body: bytes | None) -> Mapping[str, Any]:
        deadline_s = time.monotonic() + self._timeout_s
        try:
            answer = get(f"{self.url}{path}", deadline_s, access, _MAX_ANSWER_BYTES, body)
        except OSError as error:
            raise UnavailableError(
                f"No agent answers at {self.url}: {error.strerror or error}. Start it, or give a "
                "different address with --url, --host and --port, or --config."
            ) from error
        with agents_answer(f"at {self.url}", f"it answers HTTP {answer.status} without its JSON"):
            found = _printable(bounded_json(answer.body, _MAX_ANSWER_BYTES, _MAX_VALUES))
            return {**found}


@contextmanager
def agents_answer(
    place: str = "that answers",
    reason: str = "its answer has unexpected members",
    kind: type[UnavailableError] = UnavailableError,
) -> Iterator[None]:
    """Wrap code that reads an answer, and raise `kind` if the answer is not an agent's."""
    try:
        yield
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise kind(
            f"The server {place} is not an agent: {reason}. Stop it and start the agent, or "
            "correct the address."
        ) from error


def _printable(value: Any) -> Any:
    """Replace control characters, which could steer a terminal, in all texts of a document."""
    match value:
        case str():
            return printable(value)
        case list():
            return [_printable(each) for each in value]
        case dict():
            return {printable(name): _printable(each) for name, each in value.items()}
        case _:
            return value


def _users(*owned: Path) -> frozenset[int]:
    """Return the users that may run the agent: root, the current user and the owners of `owned`."""
    users = {0, os.geteuid()}
    for path in owned:
        with suppress(OSError):
            users.add(path.stat().st_uid)
    return frozenset(users)


def _is_local(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"

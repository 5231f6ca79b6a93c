"""HTTP client for agents: one request with an overall deadline and a bounded answer. It follows no
redirects and uses no proxy."""

import io
import socket
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPResponse
from ipaddress import ip_address
from typing import cast
from urllib.parse import urlsplit

from sidecar.http.address import listeners
from sidecar.tls.store_file import client_context

MAX_ANSWER_BYTES = 256 << 10
"""Larger than any `/health`."""
_READ_BYTES = 64 << 10


@dataclass(frozen=True, slots=True)
class Access:
    """How to reach servers."""

    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Such as `Authorization`."""
    tls: ssl.SSLContext | None = None
    """For https; None: the system's CA certificates."""
    users: frozenset[int] | None = None
    """User ids whose programs on this machine may receive requests; None: all."""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes


def printable(text: str) -> str:
    """Replace control characters, which could steer a terminal, with spaces."""
    return "".join(each if each.isprintable() else " " for each in text)


def get(
    url: str,
    deadline_s: float,
    access: Access | None = None,
    max_bytes: int = MAX_ANSWER_BYTES,
    body: bytes | None = None,
) -> Answer:
    """Send a GET, or a POST with the JSON `body`, and return the answer. `deadline_s` is compared
    with `time.monotonic`. Raises OSError with a text for the operator."""
    access = access or Access()
    parts = urlsplit(url)
    is_tls = parts.scheme == "https"
    host, port = str(parts.hostname), parts.port or (443 if is_tls else 80)
    try:
        with socket.create_connection((host, port), timeout=_remaining_s(deadline_s)) as plain:
            connection = plain
            if access.users is not None:
                _require_user(plain, access.users)
            if is_tls:
                context = access.tls or client_context()
                connection = context.wrap_socket(plain, server_hostname=host)
            with connection:
                connection.sendall(_request(parts.netloc, url, access.headers, body))
                content = _read(connection, deadline_s, max_bytes)
        return _parsed(content)
    except TimeoutError as error:
        raise TimeoutError("no answer in time") from error
    except socket.gaierror as error:
        raise OSError(f"the name {host} cannot be resolved: {error.strerror}") from error
    except ssl.SSLCertVerificationError as error:
        raise OSError(f"its certificate is not accepted: {error.verify_message}") from error
    except ssl.SSLError as error:
        raise OSError(f"the TLS handshake failed: {error.reason or error}") from error
    except (HTTPException, ValueError, UnicodeError) as error:
        raise OSError("the answer is not HTTP") from error


def _require_user(connection: socket.socket, users: frozenset[int]) -> None:
    """Raise OSError if a different user of this machine may have taken the port. Call this before
    sending anything."""
    own, peer = connection.getsockname(), connection.getpeername()
    if own[0] != peer[0] and not ip_address(peer[0]).is_loopback:
        return
    found = {each.uid for each in listeners(peer[1], own[1])}
    if not found or not found <= users:
        strangers = ", ".join(map(str, sorted(found - users))) or "not known"
        raise OSError(
            f"the user id of the program that listens there is {strangers}, not the agent's. "
            f"Nothing was sent. `ss -ltnp 'sport = :{peer[1]}'` finds the program"
        )


def _request(host: str, url: str, headers: Mapping[str, str], body: bytes | None) -> bytes:
    path = url.split("//", 1)[1].partition("/")[2]
    method = "GET" if body is None else "POST"
    lines = [f"{method} /{path} HTTP/1.1", f"Host: {host}", "Accept: application/json"]
    lines += ["User-Agent: cdc-sidecar-fleet", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if body is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + (body or b"")


def _read(connection: socket.socket, deadline_s: float, max_bytes: int) -> bytes:
    content = bytearray()
    while True:
        connection.settimeout(_remaining_s(deadline_s))
        block = connection.recv(_READ_BYTES)
        if not block:
            return bytes(content)
        content += block
        if len(content) > max_bytes:
            raise OSError(f"the answer has more than {max_bytes >> 10} KiB")


def _remaining_s(deadline_s: float) -> float:
    remaining_s = deadline_s - time.monotonic()
    if remaining_s <= 0:
        raise TimeoutError
    return remaining_s


class _Received:
    """Presents an answer's bytes as the socket that `HTTPResponse` reads."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def makefile(self, mode: str) -> io.BytesIO:
        return io.BytesIO(self._content)


def _parsed(content: bytes) -> Answer:
    if not content:
        raise OSError("the server closed the connection without an answer")
    response = HTTPResponse(cast(socket.socket, _Received(content)))
    response.begin()
    return Answer(response.status, response.read())

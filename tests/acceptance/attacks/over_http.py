"""Attacks by a client that reaches the agent's port. Each lasts for `ATTACK_S` seconds."""

import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress

from tests.acceptance.attacks.target import Target

ATTACK_S = 3.0
Attack = Callable[[Target], None]
_END = b" HTTP/1.1\r\nHost: localhost\r\n"


def _until_end() -> Iterator[None]:
    end_s = time.monotonic() + ATTACK_S
    while time.monotonic() < end_s:
        yield


def _sent(target: Target, content: bytes, reads: bool = True) -> None:
    """One connection that sends bytes and reads the answer."""
    with suppress(OSError), target.connect() as client:
        client.settimeout(1.0)
        client.sendall(content)
        if reads:
            while client.recv(65536):
                pass


def _repeated(*contents: bytes) -> Attack:
    def attack(target: Target) -> None:
        for number, _ in enumerate(_until_end()):
            _sent(target, contents[number % len(contents)])

    return attack


def _held(content: bytes, clients: int) -> Attack:
    """Clients that send bytes, keep their connection open, and read nothing."""

    def attack(target: Target) -> None:
        with ExitStack() as stack:
            held: list[socket.socket] = []
            for _ in _until_end():
                with suppress(OSError):
                    client = stack.enter_context(target.connect())
                    held.append(client)
                    client.settimeout(0.05)
                    client.sendall(content)
                if len(held) >= clients:
                    held.pop(0).close()
                    time.sleep(0.005)

    return attack


def _long_patterns(target: Target) -> None:
    """Different patterns, so that a cache would store each of them."""
    for number, _ in enumerate(_until_end()):
        path = b"/jolokia/read/%d*" % number + b"?*" * 1900
        _sent(target, b"GET " + path + _END + b"Connection: close\r\n\r\n")


def _post(path: bytes, body: bytes) -> bytes:
    head = b"Content-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
    return b"POST " + path + _END + head % len(body) + body


_PAGES = (b"/history", b"/page.json", b"/metrics", b"/health", b"/metrics/jmx", b"/metrics.json")
_DEEP = b'{"table":' + b"[" * 60_000
_MANY = b'{"table":[' + b"[],{}," * 10_000 + b"1]}"
_TEXT = json.dumps({"table": "a" * 60_000, "type": "execute-snapshot", "data": {}}).encode()

OVER_HTTP: dict[str, Attack] = {
    "one path of 256 KiB that a matcher tries again and again": _repeated(
        b"GET /jolokia/" + b"a" * 262_000 + b"!" + _END + b"\r\n"
    ),
    "paths of 4 KiB, each with other wildcards": _long_patterns,
    "a header field of spaces that ends with NUL": _repeated(
        b"GET /" + _END + b"X:" + b" " * 16_000 + b"\0\r\n\r\n",
        b"GET /" + _END + b"X:" + b" " * 250_000 + b"\0\r\n\r\n",
    ),
    "a target of another host with a port without end": _repeated(
        b"GET a://" + b"1" * 16_000 + b" x" + _END + b"\r\n",
        b"GET a://" + b"1" * 250_000 + b" x" + _END + b"\r\n",
    ),
    "four clients that pipeline GET /history and never read": _held(
        b"GET /history" + _END + b"\r\n" + b"".join([b"GET /history" + _END + b"\r\n"] * 200), 4
    ),
    "200 clients that read no answer": _held(b"GET /history" + _END + b"\r\n", 200),
    "200 clients that send nothing": _held(b"", 200),
    "200 clients that send half a head": _held(b"GET /history HTTP/1.1\r\nHost: a", 200),
    "200 clients that send half a body": _held(
        b"POST /snapshot/start" + _END + b"Content-Length: 60000\r\n\r\nx", 200
    ),
    "two lengths and a hidden request": _repeated(
        b"POST /snapshot/start" + _END + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"0\r\n\r\nGET /offsets" + _END + b"\r\n"
    ),
    "every page at once, as fast as it goes": _repeated(
        *(b"GET " + page + _END + b"Connection: close\r\n\r\n" for page in _PAGES)
    ),
    "JSON that is deep, has many values, or one long text": _repeated(
        *(
            _post(path, body)
            for body in (_DEEP, _MANY, _TEXT)
            for path in (b"/snapshot/start", b"/signals")
        )
    ),
}

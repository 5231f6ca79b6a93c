"""Secrets with a mark that no output may show."""

import urllib.request
from base64 import b64encode

from tests.support.servers.processes import DEADLINE_S as DEADLINE_S

MARK = "Hush-7"
NOWHERE = "127.0.0.1:9"


def secret(number: int) -> str:
    return f"{MARK}-{number:02}"


def marks(text: bytes) -> list[bytes]:
    """The marks in it, plain or as a header has them."""
    told = [b64encode(f"user:{secret(n)}".encode())[:-4] for n in (4, 5)]
    return [mark for mark in (MARK.encode(), *told) if mark in text]


def answer(url: str, token: str | None = None, *, is_change: bool = False) -> bytes:
    request = urllib.request.Request(url, data=b"{}" if is_change else None)
    if token is not None:
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=DEADLINE_S) as reply:
            return bytes(reply.read()) + str(reply.headers).encode()
    except urllib.error.HTTPError as error:
        with error:
            return error.read() + str(error.headers).encode()

"""Raw HTTP requests over a socket."""

import socket

from flask import Blueprint, Response

from tests.support.agents.fake_status import HOST
from tests.support.servers.processes import DEADLINE_S


def change_pages() -> Blueprint:
    found = Blueprint("changes", __name__)

    @found.post("/change")
    def change() -> Response:
        return Response("done")

    return found


def exchange(port: int, request: bytes) -> bytes:
    """All that the server sends until it closes the connection."""
    with socket.create_connection((HOST, port), timeout=DEADLINE_S) as connection:
        connection.sendall(request)
        answer = b""
        while block := connection.recv(65536):
            answer += block
    return answer


END = b"Host: localhost\r\nConnection: close\r\n"

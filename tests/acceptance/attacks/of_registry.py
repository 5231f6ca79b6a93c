"""Attacks of a schema registry that the agent asks."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.acceptance.attacks.over_http import ATTACK_S
from tests.acceptance.attacks.target import HOST, Target

_MIB = 1 << 20
ANSWERS: dict[str, bytes] = {
    "4 MiB of empty lists": b'{"status":"ok","x":[' + b"[]," * (4 * _MIB // 3) + b"1]}",
    "250 KiB of empty lists": b'{"status":"ok","x":[' + b"[]," * (250 * 1024 // 3) + b"1]}",
    "16 MiB of one text": b'{"id":1,"x":"' + b"a" * (16 * _MIB) + b'"}',
    "JSON nested 100,000 deep": b"[" * 100_000,
}


@contextmanager
def answering(body: bytes) -> Iterator[tuple[int, list[bytes]]]:
    """The port of a server that answers every request with this body, and the requests so far."""
    requests: list[bytes] = []
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    listener = socket.create_server((HOST, 0), backlog=128)

    def serve(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            requests.append(connection.recv(65536))
            connection.sendall(head % len(body) + body)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(65536):
                pass

    def accept() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=serve, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield int(listener.getsockname()[1]), requests
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def registry_settings(port: int) -> dict[str, str]:
    settings = {}
    for part in ("key", "value"):
        settings[f"{part}.converter"] = "io.confluent.connect.avro.AvroConverter"
        settings[f"{part}.converter.schema.registry.url"] = f"http://{HOST}:{port}"
    return settings


def wait(target: Target) -> None:
    """The agent asks by itself."""
    time.sleep(ATTACK_S)

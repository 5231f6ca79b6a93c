"""HTTP servers on loopback that answer like agents, or like anything else."""

import json
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

HOST = "127.0.0.1"
_RECEIVE_S = 120


def health(status: str = "ok", **changes: Any) -> dict[str, Any]:
    """The answer of `/health`."""
    document: dict[str, Any] = {
        "status": status,
        "message": f"The agent is {status}.",
        "instance": {
            **{"service": "cdc-sidecar-cassandra", "version": "0.2.0", "host": "host-1"},
            **{"topic_prefix": "shop", "cluster": "lab", "node_id": "node-1", "datacenter": "dc1"},
            "rack": "r1",
        },
        "uptime_s": 60.0,
        "destination": "kafka broker:9092",
        "configuration_fingerprint": "0123456789ab",
        "conditions": [],
        "components": {
            "sink": {"lag_s": 1.5, "unacknowledged_events": 3},
            "quarantine": {"segments": 0},
            "cdc_raw": {"bytes": 50, "limit_bytes": 200, "time_to_full_s": 7200.0},
            "snapshot": {"copying": 0, "completed": 2, "refused": 0},
        },
    }
    instance = changes.pop("instance", {})
    document["instance"] |= instance
    return {**document, **changes}


def http_answer(document: object, status: int = 200) -> bytes:
    body = json.dumps(document).encode()
    head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    return head.encode() + b"\r\nConnection: close\r\n\r\n" + body


def health_answer(document: Mapping[str, Any]) -> bytes:
    return http_answer(document, 200 if document.get("status") == "ok" else 503)


class FakeAgent:
    """Answers every request with the next of `answers`, the last one again and again. An answer of
    None is never sent: the connection stays open."""

    def __init__(self, answers: Sequence[bytes | None], tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls
        self._answers = list(answers)
        self._listener = socket.create_server((HOST, 0))
        self.port = int(self._listener.getsockname()[1])
        self._open: list[socket.socket] = []
        self.requests: list[bytes] = []
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"

    def close(self) -> None:
        # Wakes the thread, which waits in accept.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(_RECEIVE_S)
        for connection in self._open:
            connection.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            connection.settimeout(_RECEIVE_S)
            if self._tls is not None:
                try:
                    connection = self._tls.wrap_socket(connection, server_side=True)
                except OSError:
                    # A client that does not trust the certificate.
                    continue
            self.requests.append(_request(connection))
            answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
            if answer is None:
                self._open.append(connection)
                continue
            # A client may leave before it has a whole answer.
            with connection, suppress(OSError):
                connection.sendall(answer)


@contextmanager
def fake_agents(
    *answers: Sequence[bytes | None], tls: ssl.SSLContext | None = None
) -> Iterator[list[FakeAgent]]:
    """One agent for each sequence of answers; with `tls` they speak only that."""
    agents = [FakeAgent(each, tls) for each in answers]
    try:
        yield agents
    finally:
        for agent in agents:
            agent.close()


def closed_address() -> str:
    """An address on which nothing listens."""
    with socket.create_server((HOST, 0)) as listener:
        return f"{HOST}:{listener.getsockname()[1]}"


def _request(connection: socket.socket) -> bytes:
    """What a client sent; of a client that speaks no HTTP the first bytes."""
    content = b""
    while b"\r\n\r\n" not in content and b"GET ".startswith(content[:4]):
        block = connection.recv(65536)
        if not block:
            break
        content += block
    return content

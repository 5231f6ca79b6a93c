"""How often the client tries to connect to a broker that ends every connection."""

import socketserver
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.sinks.kafka_sinks import SinkFactory

_OBSERVED_S = 3.0
_MOST_PER_S = 4.0
_AT_START = 4


class ClosingServer(socketserver.TCPServer):
    """Counts connections, and closes each at once."""

    connections = 0

    def process_request(self, request: Any, client_address: Any) -> None:
        self.connections += 1
        self.shutdown_request(request)


@pytest.fixture
def server() -> Iterator[ClosingServer]:
    with ClosingServer(("127.0.0.1", 0), socketserver.BaseRequestHandler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_a_broker_that_is_away_gets_few_connection_attempts(
    server: ClosingServer, make_sink: SinkFactory, impatient: None
) -> None:
    """The bound is a rate, so a slow machine only lowers what is counted."""
    began_s = time.monotonic()
    sink = make_sink(f"127.0.0.1:{server.server_address[1]}")
    while time.monotonic() - began_s < _OBSERVED_S:
        sink.poll(0.1)
    elapsed_s = time.monotonic() - began_s
    assert not sink.state().healthy
    assert 0 < server.connections <= _AT_START + _MOST_PER_S * elapsed_s

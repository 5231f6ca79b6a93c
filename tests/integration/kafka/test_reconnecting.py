"""How often the client tries to connect to a broker that ends every connection."""

import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.support.sinks.kafka_sinks import SinkFactory

_OBSERVED_S = 2.0
_MOST_PER_S = 4.0
_AT_START = 4


@dataclass
class ClosingListener:
    """Counts connections, and closes each at once."""

    bootstrap: str
    connections: int = 0


@pytest.fixture
def listener() -> Iterator[ClosingListener]:
    server = socket.create_server(("127.0.0.1", 0))
    found = ClosingListener(f"127.0.0.1:{server.getsockname()[1]}")

    def accept() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            found.connections += 1
            connection.close()

    thread = threading.Thread(target=accept)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join()


def test_a_broker_that_is_away_gets_few_connection_attempts(
    listener: ClosingListener, make_sink: SinkFactory
) -> None:
    """The bound is a rate, so a slow machine only lowers what is counted."""
    began_s = time.monotonic()
    sink = make_sink(listener.bootstrap)
    while time.monotonic() - began_s < _OBSERVED_S:
        sink.poll(0.1)
    elapsed_s = time.monotonic() - began_s
    assert not sink.state().healthy
    assert 0 < listener.connections <= _AT_START + _MOST_PER_S * elapsed_s

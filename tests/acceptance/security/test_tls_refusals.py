"""Servers that fail the TLS handshake receive no data."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from agent.config.loader import load_config
from agent.node.connection import node_connection
from sidecar.errors import SidecarError
from sidecar.schema_registry.client import RegistryClient
from sidecar.schema_registry.settings import registry_settings
from sidecar.sinks.kafka.topics.access import existing_topics
from tests.support.agents.minimal_configuration import minimal_configuration
from tests.support.servers.certificates import server_context
from tests.support.servers.processes import DEADLINE_S, wait_until
from tests.support.servers.secure_broker import PASSWORD, Stores


class Listener:
    """Accepts handshakes and records the data that follows."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self.received = b""
        self.tried = threading.Event()
        self._context = context
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.tried.set()
            with connection, suppress(OSError):
                connection.settimeout(DEADLINE_S)
                with self._context.wrap_socket(connection, server_side=True) as secure:
                    self.received += secure.recv(4096)

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()


CAUSES = {
    "expired": "the certificate of ",
    "another host": "is for another host",
    "another authority": "the certificate of ",
    "TLS 1.1": "supports neither TLS 1.2 nor 1.3",
}


@pytest.fixture(params=list(CAUSES))
def listener(
    request: pytest.FixtureRequest, stores: Stores, strangers: Stores, tmp_path: Path
) -> Iterator[Listener]:
    authority = stores.authority
    match request.param:
        case "expired":
            identity = authority.signed("old", is_expired=True)
        case "another host":
            identity = authority.signed("other", host="other.example")
        case "another authority":
            identity = strangers.authority.signed("stranger")
        case _:
            identity = authority.signed("weak")
    context = server_context(tmp_path, identity)
    if request.param == "TLS 1.1":
        context.set_ciphers("ALL:@SECLEVEL=0")
        with pytest.warns(DeprecationWarning):
            context.minimum_version = ssl.TLSVersion.TLSv1
            context.maximum_version = ssl.TLSVersion.TLSv1_1
    found = Listener(context)
    yield found
    with suppress(OSError):
        found.close()


def query_node(listener: Listener, stores: Stores, folder: Path) -> None:
    properties = {
        "cassandra.hosts": "127.0.0.1",
        "cassandra.port": listener.port,
        "cassandra.username": "agent",
        "cassandra.password": "s3cret-of-agent",
        "cassandra.ssl.enabled": "true",
        "cassandra.ssl.ca.path": stores.ca_pem,
    }
    connection = node_connection(load_config([minimal_configuration(folder, properties)]))
    try:
        connection.facts()
    finally:
        connection.close()


def ask_broker(listener: Listener, stores: Stores, folder: Path) -> None:
    settings = {
        "bootstrap.servers": f"127.0.0.1:{listener.port}",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": (
            "org.apache.kafka.common.security.plain.PlainLoginModule required "
            'username="agent" password="s3cret-of-agent";'
        ),
        "ssl.truststore.location": str(stores.trust_p12),
        "ssl.truststore.password": PASSWORD,
    }
    # One second suffices; otherwise the client tries again.
    existing_topics(settings, 1)


def ask_registry(listener: Listener, stores: Stores, folder: Path) -> None:
    settings = {
        "schema.registry.url": f"https://127.0.0.1:{listener.port}",
        "schema.registry.ssl.truststore.location": str(stores.ca_pem),
        "schema.registry.ssl.truststore.type": "PEM",
        "schema.registry.ssl.endpoint.identification.algorithm": "HTTPS",
        "basic.auth.credentials.source": "USER_INFO",
        "basic.auth.user.info": "agent:s3cret-of-agent",
    }
    client = RegistryClient(registry_settings("value.converter.", settings, "value"))
    try:
        client.schema_id("orders-value", '{"type":"record","name":"Key","fields":[]}')
    finally:
        client.close()


@pytest.mark.parametrize("ask", [query_node, ask_broker, ask_registry])
def test_rejected_server_receives_no_data(
    ask: Callable[[Listener, Stores, Path], None],
    listener: Listener,
    stores: Stores,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    sentences: list[str] = []

    def has_cause() -> bool:
        with pytest.raises(SidecarError) as raised:
            ask(listener, stores, tmp_path)
        sentences.append(str(raised.value))
        return CAUSES[request.node.callspec.params["listener"]] in sentences[-1]

    wait_until(has_cause, "the cause of the refusal", state=lambda: sentences)
    for sentence in sentences:
        for part in ("s3cret", "_ssl.c", "\n"):
            assert part not in sentence
    assert listener.tried.is_set()
    listener.close()
    assert listener.received == b""

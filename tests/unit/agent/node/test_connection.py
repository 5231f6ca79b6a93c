"""Errors and logins of connections to a node."""

import re
from dataclasses import replace
from unittest.mock import patch

import pytest
from cassandra import OperationTimedOut
from cassandra.cluster import NoHostAvailable
from cassandra.connection import ConnectionShutdown

from agent.node.connection import NodeAddress, NodeConnection
from sidecar.errors import ConfigError, UnavailableError

NOWHERE = NodeConnection(NodeAddress(["127.0.0.1"], 9))


def test_rejected_connection_is_reported() -> None:
    sentence = "Cassandra at 127.0.0.1:9 does not answer: Connection refused."
    with pytest.raises(UnavailableError, match=f"^{re.escape(sentence)}$"):
        NOWHERE.facts()


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (NoHostAvailable("Unable to complete", {}), "no connection is open."),
        (ConnectionShutdown("Connection to x is defunct"), "the connection was lost."),
        (OperationTimedOut({"x": "Client request timeout"}), "the request timed out."),
        (NoHostAvailable("Unable", {"x": OSError("no route")}), "no route."),
    ],
)
def test_driver_errors_are_explained_in_plain_words(error: Exception, words: str) -> None:
    assert str(NOWHERE.explain(error)) == f"Cassandra at 127.0.0.1:9 does not answer: {words}"


def test_a_node_without_a_host_id_is_reported() -> None:
    """Cassandra 6.0 has no host id after a replacement under the same address."""
    with (
        patch.object(NodeConnection, "rows", return_value=[{"host_id": None}]),
        pytest.raises(UnavailableError, match=r"has no host id\. Restart the node"),
    ):
        NOWHERE.facts()


def test_each_connection_uses_current_login() -> None:
    """A half-written certificate store leaves the login unchanged."""
    passwords = iter(["second", "", "third"])

    def now() -> NodeAddress:
        if not (password := next(passwords)):
            raise ConfigError("cassandra.ssl: half written")
        return replace(NOWHERE.address, username="cdc", password=password)

    connection = NodeConnection(NOWHERE.address, now)
    used = []
    for _ in range(3):
        with pytest.raises(UnavailableError):
            connection.facts()
        used.append(connection.address.password)
    assert used == ["second", "second", "third"]

"""Nodes that authorize: their settings, and sessions of their roles."""

from collections.abc import Mapping

from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import (
    EXEC_PROFILE_DEFAULT,
    Cluster,
    ExecutionProfile,
    NoHostAvailable,
    Session,
)
from cassandra.policies import WhiteListRoundRobinPolicy

from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.processes import DEADLINE_S, wait_until

LOGINS: Mapping[str, object] = {
    "authenticator": "PasswordAuthenticator",
    "authorizer": "CassandraAuthorizer",
    "permissions_validity": "0ms",
    "roles_validity": "0ms",
}
"""Keys of `cassandra.yaml` with which a change of a right counts at once."""


def logged_in(node: CassandraNode, user: str = "cassandra", password: str = "cassandra") -> Session:
    """A session of a role. The node makes the first one some seconds after it listens."""
    found: list[Session] = []

    def is_connected() -> bool:
        host = node.address.host
        profile = ExecutionProfile(
            load_balancing_policy=WhiteListRoundRobinPolicy([host]), request_timeout=DEADLINE_S
        )
        cluster = Cluster(
            [host],
            port=node.address.cql_port,
            auth_provider=PlainTextAuthProvider(user, password),
            execution_profiles={EXEC_PROFILE_DEFAULT: profile},
            connect_timeout=DEADLINE_S,
        )
        try:
            found.append(cluster.connect())
        except NoHostAvailable:
            cluster.shutdown()
            return False
        return True

    wait_until(is_connected, f"the role {user}")
    return found[0]

"""The CQL connection to the node, opened on demand and reopened after a loss.

cassandra-driver is untyped; this module returns typed values.
"""

import socket
import ssl
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from cassandra import (
    AuthenticationFailed,
    OperationTimedOut,
    RequestValidationException,
    Unauthorized,
)
from cassandra.auth import Authenticator, AuthProvider, PlainTextAuthProvider
from cassandra.cluster import (
    EXEC_PROFILE_DEFAULT,
    Cluster,
    ExecutionProfile,
    NoHostAvailable,
    Session,
)
from cassandra.connection import ConnectionShutdown
from cassandra.policies import ExponentialReconnectionPolicy, WhiteListRoundRobinPolicy
from cassandra.query import dict_factory

from agent.config.loader import AgentConfig
from agent.config.tls import tls_context
from sidecar.errors import AccessDeniedError, ConfigError, UnavailableError
from sidecar.tls.failures import TlsServer, tls_failure

_CONNECT_TIMEOUT_S = 5.0
_REQUEST_TIMEOUT_S = 10.0
# The driver doubles the pause between attempts, and varies it by 15 %.
_RECONNECT_S = 1.0
_LONGEST_RECONNECT_S = 30.0
# PasswordAuthenticator cannot verify a login, for instance while the node joins.
_UNDECIDED = "Unable to perform authentication"
_FACTS = "SELECT host_id, cluster_name, release_version, data_center, rack FROM system.local"
_TLS = TlsServer(
    name="the node",
    address="cassandra.hosts",
    trusted="trustStore.location in cassandra.ssl.config.path, or to cassandra.ssl.ca.path",
    identity="keyStore.location in cassandra.ssl.config.path, or cassandra.ssl.certificate.path",
    protocols="client_encryption_options, accepted_protocols",
    hostname_check="cassandra.ssl.check.hostname=false",
    enabled="cassandra.ssl.enabled and cassandra.port",
    reports_closed_handshake=True,
)

Row = Mapping[str, Any]


@dataclass(frozen=True)
class NodeAddress:
    """CQL address of the node, with its login and TLS. The driver tries `hosts` in turn."""

    hosts: Sequence[str]
    port: int = 9042
    username: str | None = None
    password: str = field(default="", repr=False)
    tls: ssl.SSLContext | None = None

    def __str__(self) -> str:
        return ", ".join(f"{host}:{self.port}" for host in self.hosts)


@dataclass(frozen=True)
class NodeFacts:
    """Identity of the node, from `system.local`."""

    host_id: str
    cluster_name: str
    release_version: str
    datacenter: str | None = None
    rack: str | None = None


class NodeConnection:
    """Queries only the given hosts. Thread-safe. Methods raise `UnavailableError` if the node does
    not answer, and `AccessDeniedError` if it denies access. The next call reconnects."""

    def __init__(
        self, address: NodeAddress, reread: Callable[[], NodeAddress] | None = None
    ) -> None:
        """Before each connection, `reread` returns the current address."""
        self.address = address
        self._reread = reread
        self._lock = threading.Lock()
        self._session: Session | None = None

    def rows(self, query: str) -> list[Row]:
        """Returns all rows of a query without parameters."""
        with self._lock:
            session = self._session or self._connect()
            self._session = session
            try:
                return list(session.execute(query, host=self._this_host(session)))
            except RequestValidationException as error:
                # The node answered, so the connection stays.
                raise self.explain(error) from error
            except Exception as error:
                self._disconnect()
                raise self.explain(error) from error

    def facts(self) -> NodeFacts:
        """Queries the node's identity. With several hosts, raises `ConfigError` unless exactly one
        of them is this machine."""
        (row,) = self.rows(_FACTS)
        if row["host_id"] is None:
            raise UnavailableError(
                f"Cassandra at {self.address} has no host id. Restart the node: Cassandra 6.0 "
                "stores it at the first start after a replacement under the same address."
            )
        return NodeFacts(
            host_id=str(row["host_id"]),
            cluster_name=str(row["cluster_name"]),
            release_version=str(row["release_version"]),
            datacenter=row["data_center"],
            rack=row["rack"],
        )

    def close(self) -> None:
        with self._lock:
            self._disconnect()

    def _connect(self) -> Session:
        if self._reread is not None:
            with suppress(ConfigError):
                self.address = self._reread()
        address = self.address
        try:
            policy = WhiteListRoundRobinPolicy(address.hosts)
        except OSError as error:
            raise UnavailableError(
                f"Cassandra at {address}: a host name cannot be resolved: {error.strerror}. "
                "Correct cassandra.hosts."
            ) from error
        profile = ExecutionProfile(
            load_balancing_policy=policy,
            request_timeout=_REQUEST_TIMEOUT_S,
            row_factory=dict_factory,
        )
        cluster = Cluster(
            list(address.hosts),
            port=address.port,
            auth_provider=_login(address),
            ssl_context=address.tls,
            ssl_options=_expected_name(address),
            execution_profiles={EXEC_PROFILE_DEFAULT: profile},
            reconnection_policy=ExponentialReconnectionPolicy(
                _RECONNECT_S, _LONGEST_RECONNECT_S, max_attempts=None
            ),
            connect_timeout=_CONNECT_TIMEOUT_S,
            control_connection_timeout=_CONNECT_TIMEOUT_S,
            # The agent reads the schema itself; the driver's copy would only use memory.
            schema_metadata_enabled=False,
            token_metadata_enabled=False,
            monitor_reporting_enabled=False,
            application_name="cdc-sidecar",
        )
        try:
            return cluster.connect()
        except Exception as error:
            cluster.shutdown()
            raise self.explain(error) from error

    def _disconnect(self) -> None:
        if self._session is not None:
            self._session.cluster.shutdown()
            self._session = None

    def _this_host(self, session: Session) -> Any:
        """Returns the host on this machine, because each node returns its own facts."""
        hosts = [pool.host for pool in session.get_pools()]
        if len(hosts) <= 1:
            return None
        here = [host for host in hosts if _is_address_of_this_machine(host.address)]
        if len(here) != 1:
            raise ConfigError(
                f"cassandra.hosts: {len(here)} of {len(hosts)} addresses belong to this machine; "
                "exactly one must. Set it to the local node."
            )
        return here[0]

    def explain(self, error: Exception) -> Exception:
        """Converts a driver error to an error of the agent."""
        if isinstance(error, ConfigError):
            return error
        causes = [error]
        if isinstance(error, NoHostAvailable) and isinstance(error.errors, Mapping):
            causes = list(error.errors.values()) or [error]
        for cause in causes:
            # Unauthorized: a permission is missing, or the role may not connect from here.
            is_denial = isinstance(cause, AuthenticationFailed | Unauthorized)
            if is_denial and _UNDECIDED not in str(cause):
                return self._access_denied(cause)
        if isinstance(error, RequestValidationException):
            return UnavailableError(
                f"Cassandra at {self.address} rejects a query: {_first_line(error)}"
            )
        clause = tls_failure(" ".join(map(str, causes)), _TLS)
        if clause is not None:
            return UnavailableError(f"Cassandra at {self.address} cannot be reached: {clause}.")
        return UnavailableError(
            f"Cassandra at {self.address} does not answer: {_no_answer(causes[0])}"
        )

    def _access_denied(self, cause: Exception) -> AccessDeniedError:
        username = self.address.username
        who = "a client without credentials" if username is None else f"user {username!r}"
        return AccessDeniedError(
            f"Cassandra at {self.address} rejects {who}: {_first_line(cause)} "
            "Check cassandra.username, cassandra.password and the user's rights."
        )


class _CertificateLogin(AuthProvider):  # type: ignore[misc]  # the driver is untyped
    """Sends empty credentials: a node with `MutualTlsWithPasswordFallbackAuthenticator` (5.0)
    requests a login even if the client certificate is the login."""

    def new_authenticator(self, host: str) -> Authenticator:
        return _EmptyAnswer()


class _EmptyAnswer(Authenticator):  # type: ignore[misc]  # the driver is untyped
    def initial_response(self) -> bytes:
        return b""

    def evaluate_challenge(self, challenge: bytes) -> bytes:
        return b""


def _login(address: NodeAddress) -> AuthProvider | None:
    """Returns the login: the credentials, or with TLS possibly the client certificate."""
    if address.username is not None:
        return PlainTextAuthProvider(address.username, address.password)
    return None if address.tls is None else _CertificateLogin()


def _expected_name(address: NodeAddress) -> Mapping[str, str] | None:
    """Returns the host name to verify; without it, the driver verifies the resolved address. The
    option applies to all hosts, so it cannot be set for several hosts."""
    if address.tls is None or not address.tls.check_hostname or len(address.hosts) != 1:
        return None
    return {"server_hostname": address.hosts[0]}


def _no_answer(error: Exception) -> str:
    """Explains why the node did not answer, without the driver's internals."""
    if isinstance(error, NoHostAvailable):
        return "no connection is open."
    if isinstance(error, ConnectionShutdown):
        return "the connection was lost."
    if isinstance(error, OperationTimedOut):
        return "the request timed out."
    return _first_line(error).rpartition("Last error: ")[2]


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    text = lines[0] if lines else type(error).__name__
    return text if text.endswith(".") else f"{text}."


def _is_address_of_this_machine(address: str) -> bool:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as probe:
        try:
            probe.bind((address, 0))
        except OSError:
            return False
    return True


def node_connection(config: AgentConfig) -> NodeConnection:
    """Creates an unopened connection to the configured node. Raises `ConfigError`."""
    return NodeConnection(node_address(config), partial(node_address, config))


def node_address(config: AgentConfig) -> NodeAddress:
    """Returns the address with the current login and certificates. Raises `ConfigError`."""
    properties = config.properties.reread()
    password = properties.cassandra_password
    return NodeAddress(
        config.hosts,
        config.port,
        properties.cassandra_username,
        "" if password is None else password.get_secret_value(),
        tls_context(properties),
    )

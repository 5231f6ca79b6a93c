"""Diagnosis of failed connections.

A driver with a replica set name ignores standalones and members of other sets, and reports only a
timeout. The agent therefore sends `hello` to each configured address.
"""

import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pymongo import MongoClient
from pymongo.errors import PyMongoError
from pymongo.uri_parser import parse_uri, split_hosts

from mongo_agent.config.client import ClientSettings
from mongo_agent.config.loading import MongoConfig
from mongo_agent.server.commands import Client
from mongo_agent.server.deployment import (
    MONGOS,
    Deployment,
    discover,
    no_change_streams,
    not_initiated,
)
from mongo_agent.server.errors import tls_error
from sidecar.errors import AccessDeniedError, ConfigError, SidecarError, UnavailableError

ANSWER_MS = 10_000
_LONGEST_MS = 3000
_DEFAULT_PORT = 27017


@dataclass(frozen=True, slots=True)
class SeedAnswer:
    """The reply of one configured address.

    Without a reply, `hello` is None and `error` is the driver's message. `speaks_tls` is set only
    if the server uses TLS and the configuration does not, or the reverse.
    """

    address: str
    hello: Mapping[str, Any] | None
    speaks_tls: bool | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class ExpectedServer:
    """The configured replica set name and connection mode."""

    name: str | None = None
    is_direct: bool = False


@contextmanager
def connect(config: MongoConfig) -> Iterator[tuple[Client, Deployment]]:
    """Connect a command to MongoDB, waiting at most `ANSWER_MS`; yield client and deployment.

    Raises the cause of a failed connection.
    """
    with MongoClient[Any](**config.client.prompt(ANSWER_MS)) as client:
        try:
            deployment = discover(client)
        except (AccessDeniedError, UnavailableError) as error:
            raise diagnose(error, config.client) from error
        yield client, deployment


def diagnose(error: SidecarError, settings: ClientSettings) -> SidecarError:
    """Replace a connection error with its cause, if an address reveals one.

    Queries the addresses in turn; each unreachable address takes some seconds.
    """
    addresses, options = _seeds(settings.options)
    wanted = ExpectedServer(options.get("replicaset"), bool(options.get("directconnection")))
    tls = {option: value for option, value in options.items() if option.startswith(("tls", "ssl"))}
    waiting: list[str] = []
    for address in addresses:
        seed = _query(address, tls)
        message = mismatch(wanted, seed)
        if message is not None:
            return ConfigError(message)
        if seed.hello is not None and seed.hello.get("isreplicaset"):
            waiting.append(seed.address)
    if waiting and not isinstance(error, AccessDeniedError):
        return UnavailableError(not_initiated(f"The member at {', '.join(waiting)}"))
    return error


def _query(address: str, tls: Mapping[str, Any]) -> SeedAnswer:
    try:
        return SeedAnswer(address, _hello(address, tls))
    except PyMongoError as error:
        reason = str(error)
    has_tls = bool(tls.get("tls", tls.get("ssl", False)))
    answers_otherwise = _answers_plainly(address) if has_tls else _answers_by_tls(address)
    return SeedAnswer(address, None, not has_tls if answers_otherwise else None, reason)


def _seeds(given: Mapping[str, Any]) -> tuple[list[str], dict[str, Any]]:
    """Return the addresses, and the options by lower-case name."""
    host = given["host"]
    options = {}
    if isinstance(host, str):
        try:
            parsed = parse_uri(host)
        except PyMongoError:
            # DNS does not resolve the name of the cluster.
            return [], {}
        options = {name.lower(): value for name, value in parsed["options"].items()}
        nodes = parsed["nodelist"]
        host = [f"[{name}]:{port}" if ":" in name else f"{name}:{port}" for name, port in nodes]
    options |= {name.lower(): value for name, value in given.items() if name != "host"}
    return list(host), options


def _hello(address: str, tls: Mapping[str, Any]) -> Mapping[str, Any]:
    # `hello` needs no login.
    options = {**tls, "directConnection": True, "serverSelectionTimeoutMS": _LONGEST_MS}
    with MongoClient[Any](address, **options) as client:
        answer: Mapping[str, Any] = client.admin.command("hello")
        return answer


def _answers_plainly(address: str) -> bool:
    try:
        _connect(address).close()
        _hello(address, {})
    except (OSError, PyMongoError):
        return False
    return True


def _answers_by_tls(address: str) -> bool:
    """Whether the server starts a TLS handshake. Verifies no certificate and sends no data."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        with _connect(address) as raw, context.wrap_socket(raw):
            return True
    except ssl.SSLError as error:
        # An alert is a TLS message.
        return "ALERT" in (error.reason or "")
    except OSError:
        return False


def _connect(address: str) -> socket.socket:
    ((host, port),) = split_hosts(address)
    return socket.create_connection((host, port or _DEFAULT_PORT), timeout=_LONGEST_MS / 1000)


def mismatch(wanted: ExpectedServer, seed: SeedAnswer) -> str | None:
    """Return an error if a server's reply contradicts the configuration, else None."""
    hello = seed.hello
    if hello is None:
        return _tls_mismatch(seed)
    message = no_change_streams(hello, seed.address)
    if message is not None and (wanted.is_direct or not hello.get("arbiterOnly")):
        return message
    found = hello.get("setName")
    if hello.get("msg") == MONGOS and wanted.name is not None:
        return (
            f"A mongos answers at {seed.address}, but the configuration specifies the replica set "
            f"{wanted.name}. Remove the name from `mongodb.hosts` or the connection string."
        )
    if found is not None and wanted.name not in (None, found):
        return (
            f"The replica set at {seed.address} is {found}, but the configuration specifies "
            f"{wanted.name}. Correct `mongodb.hosts` or `replicaSet` in the connection string."
        )
    return None


def _tls_mismatch(seed: SeedAnswer) -> str | None:
    message = tls_error(seed.error)
    if message is None and seed.speaks_tls:
        return (
            f"The server at {seed.address} requires TLS. Set `mongodb.ssl.enabled=true`, or "
            "`tls=true` in the connection string, and the trusted CAs (`mongodb.ssl.truststore` or "
            "`mongodb.ssl.ca.path`)."
        )
    if message is None and seed.speaks_tls is False:
        return (
            f"The server at {seed.address} does not use TLS. Set `mongodb.ssl.enabled=false`, "
            "remove `tls=true` from the connection string, or use a port with TLS."
        )
    return message

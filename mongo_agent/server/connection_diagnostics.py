"""What stands behind a connection that does not come about.

A driver that was given the name of a replica set passes over servers that are none, or another one,
and only says that nobody answered. So each configured address is asked by itself what it is.
"""

import socket
import ssl
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pymongo import MongoClient
from pymongo.errors import PyMongoError
from pymongo.uri_parser import parse_uri, split_hosts

from mongo_agent.config import ClientSettings
from mongo_agent.server.deployment import no_change_streams, not_initiated
from mongo_agent.server.tls_errors import tls_error
from sidecar.errors import ConfigError, RefusedError, SidecarError, UnavailableError

_MONGOS = "isdbgrid"
_LONGEST_MS = 3000
_DEFAULT_PORT = 27017


@dataclass(frozen=True, slots=True)
class SeedAnswer:
    """`hello` is the server's answer; None where there was none. `speaks_tls` is known only of a
    server that answers in the other way than the configured one. `said` is what the driver said
    where there was no answer."""

    address: str
    hello: Mapping[str, Any] | None
    speaks_tls: bool | None = None
    said: str = ""


@dataclass(frozen=True, slots=True)
class ExpectedServer:
    """What the configuration says of the servers: the name of the replica set, if any, whether one
    address alone is used, and whether by TLS."""

    name: str | None = None
    is_direct: bool = False
    has_tls: bool = False


def diagnose(error: SidecarError, settings: ClientSettings) -> SidecarError:
    """The same error, or what stands behind it: a ConfigError, or an UnavailableError with a better
    sentence. Asks every address, which takes some seconds where nobody answers."""
    wanted, seeds = _look_at_seeds(settings)
    waiting: list[str] = []
    for seed in seeds:
        sentence = mismatch(wanted, [seed])
        if sentence is not None:
            return ConfigError(sentence)
        if seed.hello is not None and seed.hello.get("isreplicaset"):
            waiting.append(seed.address)
    if waiting and not isinstance(error, RefusedError):
        return UnavailableError(not_initiated(f"The member at {', '.join(waiting)}"))
    return error


def _look_at_seeds(settings: ClientSettings) -> tuple[ExpectedServer, Iterator[SeedAnswer]]:
    """Each is asked when it is wanted."""
    addresses, options = _seeds(settings.options)
    tls = {option: value for option, value in options.items() if option.startswith(("tls", "ssl"))}
    wanted = ExpectedServer(
        options.get("replicaset"),
        bool(options.get("directconnection")),
        bool(tls.get("tls", tls.get("ssl", False))),
    )
    return wanted, (_asked(address, tls, has_tls=wanted.has_tls) for address in addresses)


def _asked(address: str, tls: Mapping[str, Any], *, has_tls: bool) -> SeedAnswer:
    try:
        return SeedAnswer(address, _hello(address, tls))
    except PyMongoError as error:
        said = str(error)
    if has_tls:
        return SeedAnswer(address, None, False if _answers_plainly(address) else None, said)
    return SeedAnswer(address, None, True if _answers_by_tls(address) else None, said)


def _seeds(given: Mapping[str, Any]) -> tuple[list[str], dict[str, Any]]:
    """Addresses, and options by names in small letters."""
    host = given["host"]
    options = {}
    if isinstance(host, str):
        try:
            parsed = parse_uri(host)
        except PyMongoError:
            # The name of a cluster that DNS does not know.
            return [], {}
        options = {name.lower(): value for name, value in parsed["options"].items()}
        host = [_address(*node) for node in parsed["nodelist"]]
    options |= {name.lower(): value for name, value in given.items() if name != "host"}
    return list(host), options


def _address(host: str, port: int | None) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _hello(address: str, tls: Mapping[str, Any]) -> Mapping[str, Any]:
    # Who a server is it tells without a login.
    options = {**tls, "directConnection": True, "serverSelectionTimeoutMS": _LONGEST_MS}
    with MongoClient[Any](address, **options) as client:
        answer: Mapping[str, Any] = client.admin.command("hello")
        return answer


def _answers_plainly(address: str) -> bool:
    try:
        _connection(address).close()
        _hello(address, {})
    except (OSError, PyMongoError):
        return False
    return True


def _answers_by_tls(address: str) -> bool:
    """By the beginning of a connection, in which nobody is believed and nothing is said."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        with _connection(address) as raw, context.wrap_socket(raw):
            return True
    except ssl.SSLError as error:
        # An alert is a word of TLS.
        return "ALERT" in (error.reason or "")
    except OSError:
        return False


def _connection(address: str) -> socket.socket:
    ((host, port),) = split_hosts(address)
    return socket.create_connection((host, port or _DEFAULT_PORT), timeout=_LONGEST_MS / 1000)


def mismatch(wanted: ExpectedServer, seeds: Sequence[SeedAnswer]) -> str | None:
    """A sentence when a server answers and is not what is configured. None where nobody answers,
    or all is as it should be."""
    return next(_wrong(wanted, seeds), None)


def _wrong(wanted: ExpectedServer, seeds: Sequence[SeedAnswer]) -> Iterator[str]:
    for seed in seeds:
        if seed.hello is None:
            yield from _wrong_tls(seed)
            continue
        sentence = no_change_streams(seed.hello, seed.address)
        if sentence is not None and (wanted.is_direct or not seed.hello.get("arbiterOnly")):
            yield sentence
        elif seed.hello.get("msg") == _MONGOS:
            if wanted.name is not None:
                yield (
                    f"A mongos answers at {seed.address}, and the configuration names the replica "
                    f"set {wanted.name}: leave the name out of `mongodb.hosts` or the connection "
                    "string."
                )
        elif (found := seed.hello.get("setName")) is not None and wanted.name not in (None, found):
            yield (
                f"The replica set at {seed.address} is named {found}, and the configuration says "
                f"{wanted.name}: correct `mongodb.hosts` or `replicaSet` in the connection string."
            )


def _wrong_tls(seed: SeedAnswer) -> Iterator[str]:
    sentence = tls_error(seed.said)
    if sentence is not None:
        yield sentence
    if seed.speaks_tls:
        yield (
            f"The server at {seed.address} takes no connection without TLS: set "
            "`mongodb.ssl.enabled=true`, or `tls=true` in the connection string, and say whom it "
            "trusts (`mongodb.ssl.truststore` or `mongodb.ssl.ca.path`)."
        )
    if seed.speaks_tls is False:
        yield (
            f"The server at {seed.address} does not speak TLS: set `mongodb.ssl.enabled=false`, or "
            "leave `tls=true` out of the connection string, or name the port that does."
        )

"""What stands behind a connection that does not come about.

A driver that was given the name of a replica set passes over servers that are none, or another one,
and only says that nobody answered. So each configured address is asked by itself what it is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pymongo import MongoClient
from pymongo.errors import PyMongoError
from pymongo.uri_parser import parse_uri

from mongo_agent.change_stream.recovery import STANDALONE
from mongo_agent.config import ClientSettings
from sidecar.errors import ConfigError, SidecarError, UnavailableError

_MONGOS = "isdbgrid"
_LONGEST_MS = 3000


@dataclass(frozen=True, slots=True)
class Seed:
    """`hello` is the server's answer; None where there was none."""

    address: str
    hello: Mapping[str, Any] | None


def explained(error: UnavailableError, settings: ClientSettings) -> SidecarError:
    """The same error, or the ConfigError that stands behind it. Asks every address, which takes
    some seconds where nobody answers."""
    sentence = wrong_server(*_look_at_seeds(settings))
    return error if sentence is None else ConfigError(sentence)


def _look_at_seeds(settings: ClientSettings) -> tuple[str | None, list[Seed]]:
    """The name of the replica set that is configured, if any, and each address."""
    addresses, options = _seeds(settings.options)
    name = options.pop("replicaset", None)
    tls = {option: value for option, value in options.items() if option.startswith(("tls", "ssl"))}
    return name, [Seed(address, _hello(address, tls)) for address in addresses]


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


def _hello(address: str, tls: Mapping[str, Any]) -> Mapping[str, Any] | None:
    # Who a server is it tells without a login.
    options = {**tls, "directConnection": True, "serverSelectionTimeoutMS": _LONGEST_MS}
    try:
        with MongoClient[Any](address, **options) as client:
            answer: Mapping[str, Any] = client.admin.command("hello")
            return answer
    except PyMongoError:
        return None


def wrong_server(name: str | None, seeds: Sequence[Seed]) -> str | None:
    """A sentence when a server answers and is not what is configured; `name` is that of the replica
    set, where one is named. None where nobody answers, or all is as it should be."""
    for seed in seeds:
        if seed.hello is None or seed.hello.get("isreplicaset"):
            # The latter waits for `rs.initiate()`.
            continue
        found = seed.hello.get("setName")
        if seed.hello.get("msg") == _MONGOS:
            if name is not None:
                return (
                    f"A mongos answers at {seed.address}, and the configuration names the replica "
                    f"set {name}: leave the name out of `mongodb.hosts` or the connection string."
                )
        elif found is None:
            return STANDALONE
        elif name is not None and found != name:
            return (
                f"The replica set at {seed.address} is named {found}, and the configuration says "
                f"{name}: correct `mongodb.hosts` or `replicaSet` in the connection string."
            )
    return None

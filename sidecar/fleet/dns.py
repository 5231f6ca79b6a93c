"""Agents behind one DNS name, such as a headless service: one for each A and AAAA record."""

import socket

from sidecar.errors import UnavailableError
from sidecar.fleet.target import MAX_TARGETS, Target, parse_target, url_host


def resolve_targets(name: str, default_port: int) -> list[Target]:
    """`name` is `host` or `host:port`. Blocks for the time-outs of the resolver. Raises ValueError
    for an unusable name and UnavailableError without an answer."""
    named = parse_target(name, default_port)
    host, _, port = named.url.removeprefix("http://").rpartition(":")
    if "/" in port or not named.url.startswith("http://"):
        raise ValueError(f"`{name}`: must be host or host:port")
    try:
        found = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not a host name"
        raise UnavailableError(f"The DNS name {host} has no address: {reason}.") from error
    addresses = sorted({str(each[4][0]) for each in found})
    return [
        Target(f"{host} ({address})", f"http://{url_host(address)}:{port}")
        for address in addresses[:MAX_TARGETS]
    ]

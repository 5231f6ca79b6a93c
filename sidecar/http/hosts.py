"""Host names with which clients may address the agent (`http.allowed.hosts`)."""

import re
import socket
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from ipaddress import IPv4Address, IPv6Address, ip_address

PROPERTY = "http.allowed.hosts"

_ANY = "*"
# RFC 6761, RFC 8375, RFC 6762, ICANN's `internal`, and Kubernetes: not in the public DNS.
_PRIVATE_SUFFIXES = (
    ".localhost",
    ".local",
    ".internal",
    ".home.arpa",
    ".test",
    ".svc",
)


@cache
def machine_names() -> frozenset[str]:
    """Return this machine's host name and fully qualified name."""
    name = socket.gethostname()
    return frozenset(each.lower().rstrip(".") for each in (name, socket.getfqdn(name)) if each)


@dataclass(frozen=True, slots=True)
class KnownHosts:
    """Host names that the agent accepts. By default it listens on loopback."""

    bound_to: str = "127.0.0.1"
    """`http.host`."""
    allowed: tuple[str, ...] = ()
    """`http.allowed.hosts`: names, `.example.com` for all names below it, `*` for any name."""
    machine: frozenset[str] = field(default_factory=machine_names)

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the agent."""
        return self.bound_to.lower() == "localhost" or (
            (address := _address(self.bound_to)) is not None and address.is_loopback
        )

    def includes(self, name: str) -> bool:
        """Whether the agent accepts requests to this host name (without a port)."""
        if _address(name) is not None:
            return True
        wanted = name.lower().rstrip(".")
        if "." not in wanted or wanted.endswith(_PRIVATE_SUFFIXES):
            return True
        if wanted in self.machine or wanted == self.bound_to.lower():
            return True
        return any(_is_allowed(wanted, each.strip().lower()) for each in self.allowed)


def allowed_host_problems(names: Iterable[str]) -> list[str]:
    """Return a message for each value of `http.allowed.hosts` that can never match a host."""
    return [
        f"must be host names without a port or scheme, not `{name}`"
        for name in names
        if name != _ANY and not re.fullmatch(r"\.?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*", name)
    ]


def _is_allowed(name: str, allowed: str) -> bool:
    if allowed.startswith("."):
        return name.endswith(allowed)
    return allowed in (_ANY, name)


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text.removeprefix("[").removesuffix("]"))
    except ValueError:
        return None

"""Requests that a browser sends for another site are refused.

A page of any site can make a browser send requests to loopback and to the network of the person who
looks at it. Two rules keep such pages out:

* DNS rebinding: the page has a name of its own and has it resolve to the agent's address. So the
  `Host` header must be an IP address, a name of this machine, a name that nobody can register on
  the internet, or one of `http.allowed.hosts`.
* Cross-site requests: what is not GET, HEAD or OPTIONS must not come from another origin, by the
  headers `Origin` and `Sec-Fetch-Site`, which a page cannot set.

Probes and `/metrics` answer to every name where the agent listens beyond loopback: scrapers of
other machines use names that the agent cannot know.
"""

import re
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from types import MappingProxyType

from flask import Flask, Response, request

PROPERTY = "http.allowed.hosts"

_READ_METHODS = frozenset(("GET", "HEAD", "OPTIONS"))
_OPEN_PATHS = frozenset(("/ping", "/live", "/ready", "/metrics"))
_ANY = "*"
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]{1,253})(?::[0-9]{1,5})?")
# RFC 6761, RFC 8375, RFC 6762, ICANN's `internal`, and Kubernetes' own: not in the public DNS.
_PRIVATE_SUFFIXES = (
    ".localhost",
    ".local",
    ".internal",
    ".home.arpa",
    ".test",
    ".svc",
)
_OWN_SITES = frozenset(("same-origin", "none"))

HEADERS: Mapping[str, str] = MappingProxyType(
    {
        "Cache-Control": "no-store",
        "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
    }
)
"""What every answer has unless a page sets its own: no other site may show or embed it."""


@cache
def machine_names() -> frozenset[str]:
    """The names of this machine: its host name, and the full name that its resolver knows."""
    name = socket.gethostname()
    return frozenset(each.lower().rstrip(".") for each in (name, socket.getfqdn(name)) if each)


@dataclass(frozen=True, slots=True)
class KnownHosts:
    """Names by which the agent may be asked. Without values it listens on loopback."""

    bound_to: str = "127.0.0.1"
    """`http.host`."""
    allowed: tuple[str, ...] = ()
    """`http.allowed.hosts`: names, `.example.com` for all names below one, `*` for any name."""
    machine: frozenset[str] = field(default_factory=machine_names)

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the agent."""
        return self.bound_to.lower() == "localhost" or (
            (address := _address(self.bound_to)) is not None and address.is_loopback
        )

    def includes(self, name: str) -> bool:
        """Whether requests by this name (without a port) are answered."""
        if _address(name) is not None:
            return True
        wanted = name.lower().rstrip(".")
        if "." not in wanted or wanted.endswith(_PRIVATE_SUFFIXES):
            return True
        if wanted in self.machine or wanted == self.bound_to.lower():
            return True
        return any(_is_allowed(wanted, each.strip().lower()) for each in self.allowed)


@dataclass(frozen=True, slots=True)
class RequestFacts:
    """Of a request, what the rules look at."""

    method: str
    path: str
    target: str = ""
    """The request's target as it was sent; an absolute one is for a proxy."""
    host: str | None = None
    """The `Host` header; None where there is none, as in HTTP/1.0."""
    origin: str | None = None
    site: str | None = None
    """`Sec-Fetch-Site`."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """An HTTP status and a sentence."""

    status: int
    message: str


def refusal_of(facts: RequestFacts, hosts: KnownHosts) -> Refusal | None:
    """Why a request is refused; None for one that is answered."""
    if facts.target and not facts.target.startswith(("/", "*")):
        return Refusal(400, "This is not a proxy: the request's target must be a path.")
    if facts.host:
        found = _HOST.fullmatch(facts.host)
        if found is None:
            return Refusal(400, "Host: not a host name or address with a port.")
        is_open = facts.path in _OPEN_PATHS and not hosts.is_loopback
        is_read = facts.method in _READ_METHODS
        if not hosts.includes(found[1]) and not (is_open and is_read):
            return Refusal(
                421,
                f"Host: {found[1]} is not a known name of this agent. Use its IP address, or add "
                f"the name to {PROPERTY}.",
            )
    if facts.method in _READ_METHODS:
        return None
    if facts.site is not None and facts.site not in _OWN_SITES:
        return Refusal(403, f"Sec-Fetch-Site: {facts.site}; pages of other sites are refused.")
    if facts.origin is not None and facts.origin.lower() not in _origins(facts.host):
        return Refusal(403, "Origin: pages of other origins are refused.")
    return None


def guard_requests(app: Flask, hosts: KnownHosts) -> None:
    """Has an application refuse such requests before any page sees them, and adds `HEADERS`."""

    @app.before_request
    def check() -> Response | None:
        found = refusal_of(
            RequestFacts(
                method=request.method,
                path=request.path,
                target=str(request.environ.get("REQUEST_URI", "")),
                host=request.environ.get("HTTP_HOST"),
                origin=request.headers.get("Origin"),
                site=request.headers.get("Sec-Fetch-Site"),
            ),
            hosts,
        )
        if found is None:
            return None
        return Response(f"{found.message}\n", status=found.status, mimetype="text/plain")

    @app.after_request
    def with_headers(response: Response) -> Response:
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        return response


def allowed_host_problems(names: Iterable[str]) -> list[str]:
    """A sentence for each value of `http.allowed.hosts` that can never match a host."""
    return [
        f"must be host names without a port or scheme, not `{name}`"
        for name in names
        if name != _ANY and not re.fullmatch(r"\.?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*", name)
    ]


def _is_allowed(name: str, allowed: str) -> bool:
    if allowed.startswith("."):
        return name.endswith(allowed)
    return allowed in (_ANY, name)


def _origins(host: str | None) -> frozenset[str]:
    if not host:
        return frozenset()
    return frozenset(f"{scheme}://{host.lower()}" for scheme in ("http", "https"))


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text.removeprefix("[").removesuffix("]"))
    except ValueError:
        return None

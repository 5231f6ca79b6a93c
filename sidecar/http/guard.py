"""Rejects requests that other sites' web pages make a browser send.

Any page can make a browser send requests to loopback and to the user's network. Two rules apply:

* DNS rebinding: a page can resolve its own host name to the agent's address. So the `Host` header
  must be an IP address, a name of this machine, a name outside the public DNS, or one of
  `http.allowed.hosts`.
* Cross-site requests: the headers `Origin` and `Sec-Fetch-Site`, which a page cannot set, reveal
  them. Only a link that the user follows is accepted, because even a GET costs time.

Unless bound to loopback, probes and `/metrics` accept any host name: the agent cannot know the
names that scrapers on other machines use.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from flask import Flask, Response, request

from sidecar.http.hosts import PROPERTY, KnownHosts

_READ_METHODS = frozenset(("GET", "HEAD", "OPTIONS"))
_OPEN_PATHS = frozenset(("/ping", "/live", "/ready", "/metrics", "/metrics/jmx"))
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]{1,253})(?::[0-9]{1,5})?")
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
"""Default headers of every response, so that no other site can embed it."""


@dataclass(frozen=True, slots=True)
class RequestFacts:
    method: str
    path: str
    target: str = ""
    """The raw request target; an absolute target is meant for a proxy."""
    host: str | None = None
    """The `Host` header, or None, as in HTTP/1.0."""
    origin: str | None = None
    site: str | None = None
    """`Sec-Fetch-Site`."""
    destination: str | None = None
    """`Sec-Fetch-Dest`; `document` for a link."""


@dataclass(frozen=True, slots=True)
class RejectedRequest:
    status: int
    message: str


def rejection_of(facts: RequestFacts, hosts: KnownHosts) -> RejectedRequest | None:
    """Return why a request is rejected, or None if it is accepted."""
    if facts.target and not facts.target.startswith(("/", "*")):
        return RejectedRequest(400, "This is not a proxy: the request target must be a path.")
    if facts.host:
        found = _HOST.fullmatch(facts.host)
        if found is None:
            return RejectedRequest(400, "Host: not a host name or address with a port.")
        is_open = facts.path in _OPEN_PATHS and not hosts.is_loopback
        is_read = facts.method in _READ_METHODS
        if not hosts.includes(found[1]) and not (is_open and is_read):
            return RejectedRequest(
                421,
                f"Host: {found[1]} is not a known name of this agent. Use its IP address, or add "
                f"the name to {PROPERTY}.",
            )
    is_link = facts.method == "GET" and facts.destination == "document"
    if facts.site is not None and facts.site not in _OWN_SITES and not is_link:
        return RejectedRequest(403, "Sec-Fetch-Site: requests from other sites are rejected.")
    if facts.method in _READ_METHODS:
        return None
    if facts.origin is not None and facts.origin.lower() not in _origins(facts.host):
        return RejectedRequest(403, "Origin: requests from other origins are rejected.")
    return None


def guard_requests(app: Flask, hosts: KnownHosts) -> None:
    """Reject such requests before any view runs, and add `HEADERS` to every response."""

    @app.before_request
    def check() -> Response | None:
        found = rejection_of(
            RequestFacts(
                method=request.method,
                path=request.path,
                target=str(request.environ.get("REQUEST_URI", "")),
                host=request.environ.get("HTTP_HOST"),
                origin=request.headers.get("Origin"),
                site=request.headers.get("Sec-Fetch-Site"),
                destination=request.headers.get("Sec-Fetch-Dest"),
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


def _origins(host: str | None) -> frozenset[str]:
    if not host:
        return frozenset()
    return frozenset(f"{scheme}://{host.lower()}" for scheme in ("http", "https"))

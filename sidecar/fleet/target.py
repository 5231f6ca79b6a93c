"""Agent addresses: `host`, `host:port`, `[::1]:8000` or a URL, one per line of a file, or all
address records of a DNS name."""

import socket
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from sidecar.errors import ConfigError, UnavailableError
from sidecar.files.regular import read_regular
from sidecar.http.address import url_host

DEFAULT_PORT = 8000
MAX_TARGETS = 10_000
_MAX_FILE_BYTES = 4 << 20
_SCHEMES = ("http", "https")


@dataclass(frozen=True, slots=True)
class Target:
    name: str
    """The operator's name for it: the line of the file, or the pod's name."""
    url: str = ""
    """`http://host:port`, optionally with a path; empty if there is no address."""
    problem: str = ""
    """Why there is no address, for example because the pod does not run."""


def parse_target(text: str, default_port: int = DEFAULT_PORT) -> Target:
    """Parse an address. Raises ValueError that describes the mistake."""
    text = text.strip()
    has_scheme = "://" in text
    whole = text if has_scheme else f"http://{_bracketed(text)}"
    try:
        parts = urlsplit(whole)
        port = parts.port
    except ValueError as error:
        raise ValueError(f"`{text}`: {error}") from error
    if parts.scheme not in _SCHEMES:
        raise ValueError(f"`{text}`: the scheme must be http or https")
    if not parts.hostname or any(each.isspace() for each in text):
        raise ValueError(f"`{text}`: must be host, host:port or a URL")
    if parts.username is not None or parts.query or parts.fragment:
        raise ValueError(f"`{text}`: must have no user, query or fragment")
    if not has_scheme and parts.path:
        raise ValueError(f"`{text}`: a path needs a URL, such as http://host/path")
    if port is None:
        port = default_port if not has_scheme else (443 if parts.scheme == "https" else 80)
    url = f"{parts.scheme}://{url_host(parts.hostname)}:{port}{parts.path.rstrip('/')}"
    return Target(text, url)


def read_targets(path: Path, default_port: int = DEFAULT_PORT) -> list[Target]:
    """Return a target for each distinct address in a file; `#` begins a comment. Raises
    ConfigError with one message for each mistake."""
    try:
        text = read_regular(path.resolve(), _MAX_FILE_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not text in UTF-8.") from error
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}.") from error
    targets: dict[str, Target] = {}
    problems = []
    for number, line in enumerate(text.splitlines(), 1):
        if not (address := line.partition("#")[0].strip()):
            continue
        try:
            target = parse_target(address, default_port)
        except ValueError as error:
            problems.append(f"{path}, line {number}: {error}.")
        else:
            targets.setdefault(target.url, target)
    if problems:
        raise ConfigError(*problems)
    if not targets:
        raise ConfigError(f"{path} contains no agent address. Write one host:port per line.")
    if len(targets) > MAX_TARGETS:
        raise ConfigError(f"{path} lists {len(targets)} agents; the limit is {MAX_TARGETS}.")
    return list(targets.values())


def resolve_targets(name: str, default_port: int = DEFAULT_PORT) -> list[Target]:
    """Return a target for each A and AAAA record of `host` or `host:port`, such as a headless
    service. May block until the resolver times out. Raises ValueError for an invalid name and
    UnavailableError for a name without an address."""
    url = parse_target(name, default_port).url
    host, _, port = url.removeprefix("http://").rpartition(":")
    if "/" in port or not url.startswith("http://"):
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


def _bracketed(text: str) -> str:
    """Put a bare IPv6 address in brackets; return everything else unchanged."""
    return f"[{text}]" if text.count(":") > 1 and not text.startswith("[") else text

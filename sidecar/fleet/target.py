"""The addresses of agents: `host`, `host:port`, `[::1]:8000` or a URL, one a line in a file."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from sidecar.errors import ConfigError
from sidecar.files.regular import read_regular

DEFAULT_PORT = 8000
MAX_TARGETS = 10_000
_MAX_FILE_BYTES = 4 << 20
_SCHEMES = ("http", "https")


@dataclass(frozen=True, slots=True)
class Target:
    """One agent that is asked."""

    name: str
    """As the operator knows it: the line of the file, or the name of the pod."""
    url: str = ""
    """`http://host:port`, maybe with a path; empty when there is no address."""
    problem: str = ""
    """Why there is no address, such as a pod that does not run."""


def parse_target(text: str, default_port: int = DEFAULT_PORT) -> Target:
    """Raises ValueError that names the mistake."""
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


def parse_targets(lines: Iterable[str], origin: str, default_port: int) -> list[Target]:
    """One target for each line; `#` begins a comment, repeated lines count once. Raises ConfigError
    with one message for each mistake."""
    targets: dict[str, Target] = {}
    problems = []
    for number, line in enumerate(lines, 1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        try:
            target = parse_target(text, default_port)
        except ValueError as error:
            problems.append(f"{origin}, line {number}: {error}.")
            continue
        targets.setdefault(target.url, target)
    if problems:
        raise ConfigError(*problems)
    if not targets:
        raise ConfigError(f"{origin} names no agent. Write host:port, one a line.")
    if len(targets) > MAX_TARGETS:
        raise ConfigError(f"{origin} names {len(targets)} agents; {MAX_TARGETS} is the limit.")
    return list(targets.values())


def read_targets(path: Path, default_port: int = DEFAULT_PORT) -> list[Target]:
    """The targets in a file. Raises ConfigError."""
    try:
        text = read_regular(path.resolve(), _MAX_FILE_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not text in UTF-8.") from error
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}.") from error
    return parse_targets(text.splitlines(), str(path), default_port)


def url_host(host: str) -> str:
    """A host in a URL: IPv6 addresses have brackets."""
    return f"[{host}]" if ":" in host else host


def _bracketed(text: str) -> str:
    """A bare IPv6 address in brackets; everything else unchanged."""
    return f"[{text}]" if text.count(":") > 1 and not text.startswith("[") else text

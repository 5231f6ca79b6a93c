"""Checks whether the HTTP address is free, or already used by this agent."""

import errno
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from sidecar.bounded_json import bounded_json
from sidecar.check.check import Finding, fault, ok
from sidecar.config.settings import SidecarProperties
from sidecar.errors import ConfigError
from sidecar.files.locks import lock_holder
from sidecar.fleet.request import get, printable
from sidecar.http.address import address_problem, listeners, listening_socket, local_url

_SUBJECT = "http"
_ANSWER_S = 2.0
_MAX_BYTES = 4096
_ENDS = "Until then the agent exits with code 2."


def check_address(properties: SidecarProperties) -> Iterator[Finding]:
    """Check whether the agent can listen on the address, or already does. The process that locks
    `offset.backing.store.dir` is this agent."""
    host, port = properties.http_host, properties.http_port
    try:
        listening_socket(host, port).close()
    except ConfigError as error:
        cause = error.__cause__
        is_taken = isinstance(cause, OSError) and cause.errno == errno.EADDRINUSE
        if not is_taken:
            remedy = f"Correct http.host or http.port. {_ENDS}"
            yield fault(_SUBJECT, str(error), remedy, code="http_address_unusable")
            return
        yield _taken(properties, str(error))
        return
    where = "a free port" if not port else f"{host}:{port}"
    yield ok(_SUBJECT, f"The agent can serve HTTP on {where}.", code="http_address_free")


def check_host(properties: SidecarProperties) -> Iterator[Finding]:
    """Check whether `http.host` of a running agent is still an address of this machine."""
    problem = address_problem(properties.http_host)
    if problem is not None:
        yield fault(
            _SUBJECT,
            problem,
            "Assign the address to this machine (`ip address` lists its addresses), or correct "
            "http.host and restart the agent.",
            code="http_address_unusable",
        )


def _taken(properties: SidecarProperties, sentence: str) -> Finding:
    """Report which process uses the address."""
    holder = None
    with suppress(OSError):
        holder = lock_holder(properties.offset_directory)
    name = _service_name(properties.http_host, properties.http_port)
    if holder is not None and _listens(holder, properties.http_port, name):
        message = f"The agent with the same directories (process {holder}) serves HTTP there."
        return ok(_SUBJECT, message, code="http_address_own")
    owner = f"{name} answers there" if name else "another program listens there"
    return fault(
        _SUBJECT,
        f"{sentence} At present {owner}.",
        f"Find the process: `ss -ltnp 'sport = :{properties.http_port}'`. Stop it, or set a "
        f"different http.port. {_ENDS}",
        code="http_address_in_use",
    )


def _listens(pid: int, port: int, name: str) -> bool:
    """Whether a process listens on a port. If its file descriptors are unreadable, any agent that
    answers there (`name`) counts."""
    try:
        links = [str(entry.readlink()) for entry in Path(f"/proc/{pid}/fd").iterdir()]
    except OSError:
        return bool(name)
    return any(f"socket:[{each.inode}]" in links for each in listeners(port))


def _service_name(host: str, port: int) -> str:
    """Fetch name and version from `/buildinfo`; empty if no agent answers."""
    try:
        answer = get(f"{local_url(host, port)}/buildinfo", time.monotonic() + _ANSWER_S)
        document = bounded_json(answer.body, _MAX_BYTES)
        return printable(f"{document['service_name']} {document['version']}")
    except (OSError, ValueError, LookupError, TypeError):
        return ""

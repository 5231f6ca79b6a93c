"""Creates the HTTP server's listening socket, with errors that name the property, and finds the
sockets that listen on a port."""

import errno
import socket
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sidecar.errors import ConfigError


def listening_socket(host: str, port: int) -> socket.socket:
    """Bind a TCP socket. Raises ConfigError that names the property to change.

    `*` and `::` accept IPv4 and IPv6. Without IPv6 in the kernel, `*` is `0.0.0.0`.
    """
    if host == ANY:
        host = "::" if socket.has_dualstack_ipv6() else "0.0.0.0"
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except UnicodeError as error:
        raise ConfigError(
            f"http.host={host} is not a host name: each part between dots has 1 to 63 characters. "
            f"{_REMEDY}"
        ) from error
    except OSError as error:
        raise ConfigError(
            f"http.host={host} is not an address of this machine: {error.strerror}. {_REMEDY}"
        ) from error
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if host == "::":
            # The default is a kernel setting (net.ipv6.bindv6only).
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listener.bind(address)
    except OSError as error:
        listener.close()
        raise ConfigError(_reason(host, port, error)) from error
    return listener


def local_url(host: str, port: int) -> str:
    """Return the URL of a server on this machine that listens on `host`."""
    return f"http://{url_host(_LOOPBACK.get(host, host))}:{port}"


def url_host(host: str) -> str:
    """Format a host for a URL, with brackets around an IPv6 address."""
    return f"[{host}]" if ":" in host else host


def address_problem(host: str) -> str | None:
    """Return the problem if the host is not an address of this machine. Binds any free port."""
    try:
        listening_socket(host, 0).close()
    except ConfigError as error:
        return str(error)
    return None


ANY = "*"
"""The value of `http.host` for all addresses of this machine, IPv4 and IPv6."""
_LOOPBACK = {"": "127.0.0.1", "*": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}
_REMEDY = (
    "Set http.host to 127.0.0.1, to an address of this machine (`ip address` lists them), to "
    "0.0.0.0 for all IPv4 addresses, or to * for all addresses."
)


def _reason(host: str, port: int, error: OSError) -> str:
    match error.errno:
        case errno.EADDRNOTAVAIL:
            return (
                f"http.host={host} is not an address of this machine: {error.strerror}. {_REMEDY}"
            )
        case errno.EACCES:
            remedy = "Set http.port to 1024 or more."
        case _:
            remedy = "Set http.port to a free port."
    return f"The agent cannot serve HTTP on {host}:{port}: {error.strerror}. {remedy}"


_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_ESTABLISHED, _LISTENING = "01", "0A"


@dataclass(frozen=True, slots=True)
class Listener:
    inode: str
    uid: int


def listeners(port: int, client_port: int | None = None) -> list[Listener]:
    """Return all sockets that listen on a port and, with `client_port`, sockets that accepted a
    connection from that port.

    A line of /proc/net/tcp reads `0: 0100007F:1F90 00000000:0000 0A … uid timeout inode …`: local
    and remote address, state, owner.
    """
    found = []
    for table in _TABLES:
        with suppress(OSError, ValueError, IndexError):
            for line in table.read_text().splitlines()[1:]:
                fields = line.split()
                own, other = (int(each.rpartition(":")[2], 16) for each in fields[1:3])
                is_accepted = fields[3] == _ESTABLISHED and other == client_port
                # The kernel accepts connections before the program does; until then, inode is 0.
                if own == port and (fields[3] == _LISTENING or (is_accepted and fields[9] != "0")):
                    found.append(Listener(fields[9], int(fields[7])))
    return found

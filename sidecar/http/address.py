"""Creates the HTTP server's listening socket, with errors that name the property."""

import errno
import socket

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
    host = _LOOPBACK.get(host, host)
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


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

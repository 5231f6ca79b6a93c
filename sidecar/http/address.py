"""The address that HTTP is served on: whether it is one of this machine."""

import errno
import socket

from sidecar.errors import ConfigError


def listening_socket(host: str, port: int) -> socket.socket:
    """A bound TCP socket. Raises ConfigError that names the property to change."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except UnicodeError as error:
        raise ConfigError(
            f"http.host={host} is no host name: each part between dots has 1 to 63 characters. "
            f"{_REMEDY}"
        ) from error
    except OSError as error:
        raise ConfigError(
            f"http.host={host} is no address of this machine: {error.strerror}. {_REMEDY}"
        ) from error
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        listener.close()
        raise ConfigError(_reason(host, port, error)) from error
    return listener


def address_problem(host: str) -> str | None:
    """A sentence when the host is no address of this machine; any free port is tried."""
    try:
        listening_socket(host, 0).close()
    except ConfigError as error:
        return str(error)
    return None


_REMEDY = (
    "Set http.host to 127.0.0.1, to an address of this machine (`ip address` lists them), or to "
    "0.0.0.0 for all."
)


def _reason(host: str, port: int, error: OSError) -> str:
    match error.errno:
        case errno.EADDRNOTAVAIL:
            return f"http.host={host} is no address of this machine: {error.strerror}. {_REMEDY}"
        case errno.EACCES:
            remedy = "Set http.port to 1024 or more."
        case _:
            remedy = "Set http.port to a free port."
    return f"HTTP cannot be served on {host}:{port}: {error.strerror}. {remedy}"

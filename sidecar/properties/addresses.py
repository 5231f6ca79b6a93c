"""Validates addresses: `host:port` lists of Kafka brokers, and hosts without a port."""

import re

_PROTOCOLS = ("plaintext", "ssl", "sasl_plaintext", "sasl_ssl")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+._-]*)://")
_HOST = re.compile(r"[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+(%[\w.-]+)?\]")
_LARGEST_PORT = 65535
BROKER_LIST = "`host:port`, separated by commas"


def broker_list(text: str) -> str:
    """Validate a list, and return it unchanged. Raises ValueError with a reason.

    Accepts what both the Java client and librdkafka accept. Ports must be in range, because
    librdkafka silently truncates them.
    """
    for part in text.split(","):
        _check_broker(part.strip(), text)
    return text


def bare_host(text: str) -> str:
    """Validate a host name or an IP address without a port, and remove IPv6 brackets.

    Raises ValueError with a reason.
    """
    if (scheme := _SCHEME.match(text)) is not None:
        raise ValueError(f"must be a host name or an address, without `{scheme[0]}`")
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
    name, colon, port = text.partition(":")
    if colon and ":" not in port:
        raise ValueError(f"must be a host name or an address without a port (`{name}`)")
    if re.search(r"[\s/\[\]#]", text):
        raise ValueError("must be a host name or an address")
    return text


def _check_broker(part: str, text: str) -> None:
    if not part:
        where = "is empty" if not text.strip() else "has an empty part"
        raise ValueError(f"{where}; it must be {BROKER_LIST}")
    if (scheme := _SCHEME.match(part)) is not None:
        if scheme[1].lower() not in _PROTOCOLS:
            raise ValueError(
                f"has `{scheme[0]}` in `{part}`; it must be {BROKER_LIST}, without a scheme"
            )
        part = part[scheme.end() :]
    host, colon, port = part.rpartition(":")
    if not colon or part.endswith("]"):
        raise ValueError(
            f"has no port in `{part}`; it must be {BROKER_LIST}, such as `{part}:9092`"
        )
    if ":" in host and not host.startswith("["):
        raise ValueError(f"has `{part}`; write an IPv6 address in brackets: `[{host}]:{port}`")
    if not _HOST.fullmatch(host):
        raise ValueError(f"has no usable host in `{part}`; it must be {BROKER_LIST}")
    if not (port.isascii() and port.isdigit() and 1 <= int(port) <= _LARGEST_PORT):
        raise ValueError(f"has the port `{port}` in `{part}`; ports are 1 to {_LARGEST_PORT}")

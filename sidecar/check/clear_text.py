"""Checks whether the agent sends credentials over connections without encryption."""

import ipaddress
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from sidecar.check.check import Finding, listed, warning
from sidecar.check.schema_registry import Registries
from sidecar.config.settings import SidecarProperties

_PROXIES = ("http_proxy", "https_proxy", "all_proxy")
_OTLP = "OTEL_EXPORTER_OTLP_ENDPOINT"


@dataclass(frozen=True, slots=True)
class Login:
    """Credentials of a connection, and the servers that receive them."""

    name: str
    """The property or environment variable that configures the connection."""
    servers: tuple[str, ...]
    """URLs, or hosts with ports."""
    is_encrypted: bool
    """Whether connections to hosts use TLS; for a URL, its scheme decides."""
    remedy: str


def check_clear_text(logins: Iterable[Login]) -> Iterator[Finding]:
    """Yield a warning for each login that reaches a non-loopback server without TLS."""
    for login in logins:
        clear = [each for each in login.servers if is_clear(each, is_encrypted=login.is_encrypted)]
        if clear:
            hosts = listed(list(dict.fromkeys(map(_host, clear))))
            yield warning(
                "credentials",
                f"{login.name}: the agent exchanges credentials with {hosts} without encryption.",
                login.remedy,
                code="credentials_in_clear",
            )


def is_clear(server: str, *, is_encrypted: bool) -> bool:
    """Whether data for a server crosses the network unencrypted. Pure."""
    scheme, separator, _ = server.partition("://")
    if separator:
        is_encrypted = scheme.lower() == "https"
    host = _host(server)
    if is_encrypted or not host or host.startswith("/") or host.endswith(".sock"):
        return False
    try:
        return not ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return host != "localhost" and not host.endswith(".localhost")


def shared_logins(
    properties: SidecarProperties,
    registries: Registries,
    environment: Mapping[str, str],
    *,
    s3_endpoint: str | None = None,
    traces: bool = False,
) -> Iterator[Login]:
    """Yield the logins that both agents can have."""
    kafka, prefix = properties.kafka_producer, "kafka.producer."
    protocol = kafka.get("security.protocol", "PLAINTEXT").upper()
    if properties.sink == "kafka" and protocol == "SASL_PLAINTEXT":
        yield Login(
            f"{prefix}security.protocol=SASL_PLAINTEXT",
            tuple(kafka.get("bootstrap.servers", "").split(",")),
            False,
            f"Set {prefix}security.protocol=SASL_SSL, and {prefix}bootstrap.servers to the TLS "
            "listener of the broker.",
        )
    if (token_url := kafka.get("sasl.oauthbearer.token.endpoint.url")) is not None:
        name = f"{prefix}sasl.oauthbearer.token.endpoint.url"
        yield Login(name, (token_url,), False, f"Use an https:// address in {name}.")
    for side, registry in registries.items():
        if registry.user_info is not None or registry.token is not None:
            name = f"{side}.converter.schema.registry.url"
            yield Login(name, registry.urls, False, f"Use https:// addresses in {name}.")
    if s3_endpoint is not None:
        name = "storage.s3.endpoint"
        yield Login(name, (s3_endpoint,), False, f"Use an https:// address in {name}.")
    for name, url in environment.items():
        if name.lower() in _PROXIES and "@" in url:
            yield Login(name, (url,), False, f"Use a proxy with an https:// address in {name}.")
    if traces and environment.get(f"{_OTLP[:-8]}HEADERS"):
        servers = (environment.get(_OTLP, ""),)
        yield Login(_OTLP, servers, False, f"Use an https:// address in {_OTLP}.")
    if properties.http_token_file is not None:
        yield Login(
            "http.token.file",
            (properties.http_host.replace("*", "0.0.0.0"),),
            False,
            "Set http.host=127.0.0.1 and let a proxy with TLS serve other machines.",
        )


def _host(server: str) -> str:
    """Extract the host name from a URL or from `host:port`; return a Unix socket path unchanged."""
    rest = server.strip().rpartition("://")[2]
    if rest.startswith("/"):
        return rest
    try:
        return (urlsplit(f"//{rest}").hostname or "").rstrip(".")
    except ValueError:
        return rest

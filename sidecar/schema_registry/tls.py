"""TLS for a schema registry, with Confluent's serializer settings (`schema.registry.ssl.*`).

The content of a store determines its type: PEM, PKCS12 or JKS.
"""

import ssl
from dataclasses import dataclass

from sidecar.errors import ConfigError
from sidecar.files.regular import read_bounded
from sidecar.tls.store_file import (
    MAX_BYTES,
    MemoryFile,
    StoreFile,
    client_context,
    read_identity,
    read_trusted,
)

_PEM = b"-----BEGIN "


@dataclass(frozen=True, slots=True)
class TlsSettings:
    """Trusted CAs and the client certificate."""

    prefix: str = "schema.registry.ssl."
    """Prefix of the properties, for errors."""
    trust: StoreFile | None = None
    """None: the system's CAs."""
    identity: StoreFile | None = None
    checks_hostname: bool = True


def tls_context(settings: TlsSettings) -> ssl.SSLContext:
    """Create a context from the stores. Raises ConfigError that names property and file."""
    context = _trusting(f"{settings.prefix}truststore.location", settings.trust)
    context.check_hostname = settings.checks_hostname
    if settings.identity is not None:
        _load_identity(context, f"{settings.prefix}keystore.location", settings.identity)
    return context


def _trusting(name: str, trust: StoreFile | None) -> ssl.SSLContext:
    if trust is None:
        return client_context()
    try:
        if _is_pem(name, trust):
            return client_context(cafile=trust.path)
        return client_context(cadata=read_trusted(name, trust).decode())
    except (ssl.SSLError, OSError) as error:
        raise ConfigError(f"`{name}`: the CAs in {trust.path} cannot be used: {error}.") from error


def _load_identity(context: ssl.SSLContext, name: str, identity: StoreFile) -> None:
    if _is_pem(name, identity):
        _load(context, name, identity, str(identity.path), identity.key_password)
        return
    # OpenSSL loads a key only by path, and this key must not be on disk.
    in_memory = MemoryFile("schema-registry", read_identity(name, identity).identity)
    _load(context, name, identity, in_memory.path, None)


def _load(
    context: ssl.SSLContext, name: str, identity: StoreFile, path: str, password: str | None
) -> None:
    try:
        # A callback, because OpenSSL would prompt for a missing password.
        context.load_cert_chain(path, password=lambda: password or "")
    except (ssl.SSLError, OSError) as error:
        raise ConfigError(
            f"`{name}`: the certificate in {identity.path} and its key cannot be used "
            f"(`{name.replace('keystore.location', 'key.password')}`): {error}."
        ) from error


def _is_pem(name: str, store: StoreFile) -> bool:
    try:
        return _PEM in read_bounded(store.path, MAX_BYTES)
    except OSError as error:
        raise ConfigError(f"`{name}`: {store.path} cannot be read: {error.strerror}.") from error

"""Creates the TLS context of the CQL connection."""

import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from agent.config.driver_file import driver_stores
from agent.config.properties import NodeProperties
from sidecar.errors import ConfigError
from sidecar.files.regular import read_bounded
from sidecar.properties.source import read_properties
from sidecar.tls.store_file import MAX_BYTES, MemoryFile, UnreadableStoreError, client_context

if TYPE_CHECKING:
    from sidecar.tls.store import TlsStore

_PEM = b"-----BEGIN "
# Property names of Debezium's `SslContextFactory` and of Java.
_JAVA_NAMES = {
    "truststore.location": "ca",
    "truststore": "ca",
    "truststore.password": "ca_password",
    "truststorepassword": "ca_password",
    "keystore.location": "certificate",
    "keystore": "certificate",
    "keystore.password": "key_password",
    "keystorepassword": "key_password",
    "keypassword": "key_password",
}


@dataclass(frozen=True)
class _Files:
    ca: Path | None
    ca_password: str | None = field(repr=False)
    certificate: Path | None
    key: Path | None
    key_password: str | None = field(repr=False)


def tls_context(properties: NodeProperties) -> ssl.SSLContext | None:
    """Creates the context; returns None if TLS is off. Raises `ConfigError` for unusable files."""
    if not properties.cassandra_ssl_enabled:
        return None
    files = _files(properties)
    context = _trusting(files)
    context.check_hostname = properties.cassandra_ssl_check_hostname
    if files.certificate is not None:
        _load_certificate(context, files.certificate, files)
    return context


def _trusting(files: _Files) -> ssl.SSLContext:
    if files.ca is None:
        return client_context()
    try:
        authorities = _content(files.ca)
        if _PEM not in authorities:
            authorities = _store(files.ca, files.ca_password).trusted
            if not authorities:
                raise ConfigError(f"cassandra.ssl: {files.ca} contains no trusted certificate.")
        return client_context(cadata=authorities.decode("latin-1"))
    except ssl.SSLError as error:
        raise ConfigError(
            f"cassandra.ssl: the authorities in {files.ca} cannot be used: {error}."
        ) from error


def _load_certificate(context: ssl.SSLContext, certificate: Path, files: _Files) -> None:
    """Loads the client certificate, for a node that requires client authentication."""
    path, key, password = str(certificate), files.key, files.key_password
    in_memory = None
    if _PEM not in _content(certificate):
        store = _store(certificate, password)
        if not store.key:
            raise ConfigError(f"cassandra.ssl: {certificate} contains no private key.")
        # OpenSSL loads keys only from a path, but the key must not be written to disk.
        in_memory = MemoryFile("cassandra.ssl", store.identity)
        path, key, password = in_memory.path, None, None
    elif key is not None:
        _content(key)
    try:
        context.load_cert_chain(path, key, lambda: password or "")
    except (ssl.SSLError, OSError) as error:
        raise ConfigError(
            f"cassandra.ssl: the certificate {certificate} and its key cannot be used: {error}."
        ) from error
    del in_memory


def _files(properties: NodeProperties) -> _Files:
    """Reads the keystores from Debezium's TLS file, or else from the Java driver's file. The other
    properties override them."""
    stores: dict[str, str] = {}
    if (path := properties.cassandra_ssl_config_path) is not None:
        stores = {setting.name: setting.value for setting in read_properties(path)}
    elif properties.cassandra_driver_config_file is not None:
        stores = driver_stores(properties.cassandra_driver_config_file)
    found: dict[str, str] = {}
    for written, value in stores.items():
        name = written.lower().removeprefix("javax.net.ssl.")
        if name in _JAVA_NAMES:
            found[_JAVA_NAMES[name]] = value
    paths = {name: Path(found[name]) for name in ("ca", "certificate") if name in found}
    password = properties.cassandra_ssl_key_password
    return _Files(
        ca=properties.cassandra_ssl_ca_path or paths.get("ca"),
        ca_password=found.get("ca_password"),
        certificate=properties.cassandra_ssl_certificate_path or paths.get("certificate"),
        key=properties.cassandra_ssl_key_path,
        key_password=password.get_secret_value() if password else found.get("key_password"),
    )


def _content(path: Path) -> bytes:
    try:
        return read_bounded(path, MAX_BYTES)
    except OSError as error:
        raise ConfigError(f"cassandra.ssl: cannot read {path}: {error.strerror}.") from error


def _store(path: Path, password: str | None) -> "TlsStore":
    # Imported here: the module is slow to load, and keystores are rare.
    from sidecar.tls.store import read_store

    try:
        return read_store(path, password)
    except UnreadableStoreError as error:
        raise ConfigError(
            f"cassandra.ssl: {path} is neither a PEM file nor a readable Java keystore: {error}."
        ) from error

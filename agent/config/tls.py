"""The TLS context of the CQL connection."""

import ssl
from dataclasses import dataclass
from pathlib import Path

from agent.config.properties import NodeProperties
from sidecar.errors import ConfigError
from sidecar.properties import read_properties

_PEM = b"-----BEGIN "
_JAVA_NAMES = {
    "truststore.location": "ca",
    "keystore.location": "certificate",
    "keystore.password": "key_password",
    "keypassword": "key_password",
}


@dataclass(frozen=True)
class _Files:
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    key_password: str | None = None


def tls_context(properties: NodeProperties) -> ssl.SSLContext | None:
    """None when TLS is off. Raises `ConfigError` for a file that cannot be used."""
    if not properties.cassandra_ssl_enabled:
        return None
    files = _files(properties)
    for path in (files.ca, files.certificate, files.key):
        if path is not None:
            _require_pem(path)
    try:
        context = ssl.create_default_context(cafile=str(files.ca) if files.ca else None)
    except ssl.SSLError as error:
        raise ConfigError(
            f"cassandra.ssl: the authorities in {files.ca} cannot be used: {error}."
        ) from error
    context.check_hostname = properties.cassandra_ssl_check_hostname
    if files.certificate is not None:
        try:
            context.load_cert_chain(files.certificate, files.key, lambda: files.key_password or "")
        except (ssl.SSLError, OSError) as error:
            raise ConfigError(
                f"cassandra.ssl: the certificate {files.certificate} and its key cannot be used: "
                f"{error}."
            ) from error
    return context


def _files(properties: NodeProperties) -> _Files:
    from_java = _java_files(properties.cassandra_ssl_config_path)
    password = properties.cassandra_ssl_key_password
    return _Files(
        ca=properties.cassandra_ssl_ca_path or from_java.ca,
        certificate=properties.cassandra_ssl_certificate_path or from_java.certificate,
        key=properties.cassandra_ssl_key_path,
        key_password=password.get_secret_value() if password else from_java.key_password,
    )


def _java_files(path: Path | None) -> _Files:
    """What a properties file with the names of Java's stores says."""
    if path is None:
        return _Files()
    found: dict[str, str] = {}
    for setting in read_properties(path):
        name = setting.name.lower().removeprefix("javax.net.ssl.")
        if name in _JAVA_NAMES:
            found[_JAVA_NAMES[name]] = setting.value
    return _Files(
        ca=Path(found["ca"]) if "ca" in found else None,
        certificate=Path(found["certificate"]) if "certificate" in found else None,
        key_password=found.get("key_password"),
    )


def _require_pem(path: Path) -> None:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"cassandra.ssl: cannot read {path}: {error.strerror}.") from error
    if _PEM not in content:
        raise ConfigError(
            f"cassandra.ssl: {path} is no PEM file. Export a Java store with `keytool "
            "-importkeystore … -deststoretype pkcs12` and `openssl pkcs12 -in … -out … .pem`."
        )

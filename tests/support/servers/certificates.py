"""Certificates for tests: an authority, and what it signs."""

import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import NameOID

_DAY = timedelta(days=1)
LOOPBACK = "127.0.0.1"


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


@dataclass(frozen=True)
class Identity:
    """A key with its certificate."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    def pem(self, path: Path) -> Path:
        """Both in one file."""
        key = self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        path.write_bytes(key + self.certificate.public_bytes(Encoding.PEM))
        return path

    def pkcs12(self, path: Path, password: str) -> Path:
        encryption = BestAvailableEncryption(password.encode())
        path.write_bytes(
            pkcs12.serialize_key_and_certificates(
                b"agent", self.key, self.certificate, None, encryption
            )
        )
        return path


class Authority:
    """One that signs; `trusted` by whoever has its certificate."""

    def __init__(self, name: str = "authority of tests") -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        built = _builder(name, name, key).add_extension(
            x509.BasicConstraints(ca=True, path_length=None), critical=True
        )
        self.own = Identity(key, built.sign(key, hashes.SHA256()))
        self._name = name

    def pem(self, path: Path) -> Path:
        path.write_bytes(self.own.certificate.public_bytes(Encoding.PEM))
        return path

    def truststore(self, path: Path, password: str) -> Path:
        """As Java's keytool imports a certificate into PKCS12."""
        trusted = pkcs12.PKCS12Certificate(self.own.certificate, b"authority")
        encryption = BestAvailableEncryption(password.encode())
        path.write_bytes(pkcs12.serialize_java_truststore([trusted], encryption))
        return path

    def signed(
        self,
        name: str = "server",
        *,
        host: str = LOOPBACK,
        uri: str | None = None,
        is_expired: bool = False,
    ) -> Identity:
        """A certificate for a host, of a server or a client; with `uri`, for that identity."""
        key = ec.generate_private_key(ec.SECP256R1())
        address: x509.GeneralName = x509.DNSName(host)
        if host.replace(".", "").isdecimal():
            address = x509.IPAddress(ip_address(host))
        if uri is not None:
            address = x509.UniformResourceIdentifier(uri)
        builder = _builder(name, self._name, key, is_expired=is_expired).add_extension(
            x509.SubjectAlternativeName([address]), critical=False
        )
        return Identity(key, builder.sign(self.own.key, hashes.SHA256()))


def server_context(
    directory: Path, identity: Identity, *, clients_of: Authority | None = None
) -> ssl.SSLContext:
    """Of a server; with `clients_of` it wants a certificate of its clients by that authority."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(identity.pem(directory / "server.pem"))
    if clients_of is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(clients_of.pem(directory / "clients.pem"))
    return context


def _builder(
    name: str, issuer: str, key: ec.EllipticCurvePrivateKey, *, is_expired: bool = False
) -> x509.CertificateBuilder:
    end = datetime.now(UTC) + (-_DAY if is_expired else _DAY)
    return (
        x509.CertificateBuilder()
        .subject_name(_name(name))
        .issuer_name(_name(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(end - 3 * _DAY)
        .not_valid_after(end)
    )

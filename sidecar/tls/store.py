"""Reads Java's key and certificate stores, PKCS12 and JKS, as PEM.

The bytes of a store determine its type, because Java's two readers accept each other's files.
"""

from dataclasses import dataclass, field
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_der_private_key,
    pkcs12,
)

from sidecar.files.regular import read_bounded
from sidecar.tls import jks
from sidecar.tls.store_file import MAX_BYTES, WRONG_PASSWORD, UnreadableStoreError

_JCEKS_MAGIC = bytes.fromhex("cececece")
_PEM = b"-----BEGIN "
_DER_SEQUENCE = 0x30


@dataclass(frozen=True, slots=True)
class TlsStore:
    """`key` with its `chain`, which starts with its own certificate, and `trusted` certificates.
    All are PEM, and empty if the store contains none."""

    key: bytes = field(default=b"", repr=False)
    chain: bytes = b""
    trusted: bytes = b""

    @property
    def identity(self) -> bytes:
        """Key and certificate chain of a client, concatenated."""
        return self.key + self.chain


def read_store(path: Path, password: str | None, key_password: str | None = None) -> TlsStore:
    """Read a store. Raises `UnreadableStoreError`, or OSError for a missing file.

    Without a password, certificates are read without verifying the store, as in Java.
    `key_password` defaults to `password`.
    """
    data = read_bounded(path, MAX_BYTES)
    if data.startswith(jks.MAGIC):
        return _of_jks(data, password, key_password)
    if data.startswith(_JCEKS_MAGIC):
        raise UnreadableStoreError(
            "it is a JCEKS store; convert it (`keytool -importkeystore -deststoretype PKCS12`)"
        )
    if _PEM in data:
        raise UnreadableStoreError("it is a PEM file, not a Java store")
    if not data or data[0] != _DER_SEQUENCE:
        raise UnreadableStoreError("it is neither a PKCS12 nor a JKS store")
    return _of_pkcs12(data, password)


def _of_pkcs12(data: bytes, password: str | None) -> TlsStore:
    try:
        found = pkcs12.load_pkcs12(data, None if password is None else password.encode())
    except ValueError as error:
        raise UnreadableStoreError(WRONG_PASSWORD) from error
    others = [each.certificate for each in found.additional_certs]
    if found.key is None or found.cert is None:
        own = [] if found.cert is None else [found.cert.certificate]
        return TlsStore(trusted=_pem([*own, *others]))
    key = found.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return TlsStore(key, _pem([found.cert.certificate, *others]), _pem(others))


def _of_jks(data: bytes, password: str | None, key_password: str | None) -> TlsStore:
    found = jks.read_jks(data, password, key_password)
    trusted = [x509.load_der_x509_certificate(each) for each in found.trusted]
    if found.key is None:
        return TlsStore(trusted=_pem(trusted))
    key = load_der_private_key(found.key, None)
    chain = [x509.load_der_x509_certificate(each) for each in found.chain]
    return TlsStore(
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
        _pem(chain),
        _pem([*trusted, *chain[1:]]),
    )


def _pem(certificates: list[x509.Certificate]) -> bytes:
    return b"".join(each.public_bytes(Encoding.PEM) for each in certificates)

"""Reads stores with errors that name the property, and creates contexts for connections."""

import os
import ssl
import weakref
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sidecar.errors import ConfigError

if TYPE_CHECKING:
    from sidecar.tls.store import TlsStore


class UnreadableStoreError(ValueError):
    """Not a store of this kind, or a wrong password; the message is a clause."""


MAX_BYTES = 16 << 20
"""Maximum size of a store, or of a PEM file that replaces it."""
WRONG_PASSWORD = "its password is wrong, or the file is damaged"
"""Java's formats do not distinguish these causes."""


@dataclass(frozen=True, slots=True)
class StoreFile:
    """A key or trust store, as configured."""

    path: Path
    password: str | None = field(repr=False)
    key_password: str | None = field(default=None, repr=False)
    """Password of the key; None: the store's password."""


def read_trusted(name: str, store: StoreFile) -> bytes:
    """Read a store's trusted certificates, as PEM; `name` is the property with its location.

    Raises ConfigError that names property and file.
    """
    found = _read(name, store)
    if not found.trusted:
        raise ConfigError(
            f"`{name}`: {store.path} contains no trusted certificate. Add the CA certificates."
        )
    return found.trusted


def read_identity(name: str, store: StoreFile) -> "TlsStore":
    """Read a store's key and chain. Raises ConfigError as `read_trusted`."""
    found = _read(name, store)
    if not found.key:
        raise ConfigError(
            f"`{name}`: {store.path} contains no private key. Add the client certificate with its "
            "key."
        )
    return found


def _read(name: str, store: StoreFile) -> "TlsStore":
    # Imported here: it loads slowly, and few configurations need it.
    from sidecar.tls.store import read_store

    try:
        return read_store(store.path, store.password, store.key_password)
    except OSError as error:
        raise ConfigError(
            f"`{name}`: {store.path} cannot be read: {error.strerror}. Check path and permissions."
        ) from error
    except UnreadableStoreError as error:
        password = f"{name.removesuffix('.location')}.password"
        raise ConfigError(
            f"`{name}`: {store.path} cannot be read: {error}. Check `{password}`."
        ) from error


def client_context(cafile: Path | str | None = None, cadata: str | None = None) -> ssl.SSLContext:
    """Create a context that verifies servers; without arguments, it trusts the system's CAs.

    Python 3.13 adds `VERIFY_X509_STRICT`, which rejects certificates that Java, librdkafka and
    older Pythons accept, because `keytool` omits the authority key identifier. The same
    certificates must work on every interpreter, so the flag is off.
    Raises OSError and `ssl.SSLError` for an unusable file.
    """
    context = ssl.create_default_context(cafile=cafile, cadata=cadata)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


class MemoryFile:
    """A file in memory, for libraries that accept a key only by its path: `path` is readable by
    this process while the object exists (Linux)."""

    def __init__(self, name: str, content: bytes) -> None:
        """`name` appears in /proc."""
        descriptor = os.memfd_create(name, os.MFD_CLOEXEC)
        with os.fdopen(os.dup(descriptor), "wb") as file:
            file.write(content)
        self.path = f"/proc/self/fd/{descriptor}"
        weakref.finalize(self, os.close, descriptor)

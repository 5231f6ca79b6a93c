"""Java's stores that `kafka.producer.ssl.*` names, as the client takes them.

PKCS12 key stores the client reads itself. All others are read here, and handed over in memory: no
key is written anywhere.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sidecar.errors import ConfigError
from sidecar.tls.errors import UnreadableStoreError

if TYPE_CHECKING:
    from sidecar.tls.store import TlsStore

TRUSTSTORE, KEYSTORE = "ssl.truststore.location", "ssl.keystore.location"


@dataclass(frozen=True, slots=True)
class StoreFile:
    """A store as the properties name it."""

    path: Path
    password: str | None = field(repr=False)
    key_password: str | None = field(default=None, repr=False)
    """Of the key in it; None: that of the store."""


def store_config(
    prefix: str, trust: StoreFile | None, identity: StoreFile | None
) -> Mapping[str, str]:
    """The client's settings instead of them. Raises ConfigError: one sentence with property and
    file."""
    config: dict[str, str] = {}
    if trust is not None:
        found = _read(f"{prefix}{TRUSTSTORE}", trust)
        if not found.trusted:
            raise ConfigError(f"`{prefix}{TRUSTSTORE}`: {trust.path} trusts no certificate.")
        config["ssl.ca.pem"] = found.trusted.decode()
    if identity is not None:
        found = _read(f"{prefix}{KEYSTORE}", identity)
        if not found.key:
            raise ConfigError(f"`{prefix}{KEYSTORE}`: {identity.path} has no private key.")
        config["ssl.key.pem"] = found.key.decode()
        config["ssl.certificate.pem"] = found.chain.decode()
    return config


def _read(name: str, store: StoreFile) -> "TlsStore":
    # Imported here: it takes long to load, and few have such stores.
    from sidecar.tls.store import read_store

    try:
        return read_store(store.path, store.password, store.key_password)
    except OSError as error:
        raise ConfigError(f"`{name}`: {store.path} cannot be read: {error.strerror}.") from error
    except UnreadableStoreError as error:
        password = name.replace(".location", ".password")
        raise ConfigError(
            f"`{name}`: {store.path} cannot be read (`{password}`): {error}."
        ) from error

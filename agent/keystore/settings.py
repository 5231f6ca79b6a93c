"""Location and passwords of a keystore."""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class KeystoreSettings:
    """A keystore of the properties or of the node's `cassandra.yaml`."""

    path: Path
    store_password: str = field(repr=False)
    key_password: str | None = field(repr=False)
    """Password of the keys; None means that of the store."""
    store_type: str | None
    """`JCEKS` or `PKCS12`; None means detect it."""
    origin: str
    """Where it is configured, for messages: a property, or a file and a setting."""

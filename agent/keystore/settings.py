"""Where a keystore is, and how it opens."""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class KeystoreSettings:
    """A keystore as properties or the node's `cassandra.yaml` name it."""

    path: Path
    store_password: str = field(repr=False)
    key_password: str | None = field(repr=False)
    """Of the keys in it; None: that of the store."""
    store_type: str | None
    """`JCEKS` or `PKCS12`; None: what the file is."""
    origin: str
    """What names it, for people: a property, or a file and the setting in it."""

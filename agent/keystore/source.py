"""Reads the keystore, rereads it after changes, and opens segments with its keys."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from agent.keystore.java_keystore import UnreadableKeystoreError
from agent.keystore.jceks import MAGIC, read_jceks
from agent.keystore.pkcs12 import read_pkcs12
from commitlog import SegmentKeyError, SegmentReader
from sidecar.files.regular import read_regular


@dataclass(frozen=True, slots=True)
class KeystoreSettings:
    """A keystore that properties, command-line options or the node's `cassandra.yaml` configure."""

    path: Path
    store_password: str = field(repr=False)
    key_password: str | None = field(repr=False)
    """Password of the keys; None means the password of the store."""
    store_type: str | None
    """`JCEKS`, `PKCS12` or `JKS`; None means that the agent detects the type."""
    origin: str
    """Where the keystore is configured, for messages: a property, or a file and a setting."""


_JKS_MAGIC = bytes.fromhex("feedfeed")
_NO_KEYSTORE = (
    "no keystore is configured: set commit.log.keystore.path, or cassandra.config to a "
    "cassandra.yaml with transparent_data_encryption_options"
)

_MAX_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class Keystore:
    keys: dict[str, bytes] = field(repr=False)
    error: str | None
    """Why the read failed, as a clause without a period; None after a successful read."""
    origin: str
    """The file, and where it is configured."""

    def advice(self, alias: str | None) -> str:
        """Returns the remedy for a missing or wrong key, as a clause without a period."""
        if self.error is not None:
            return self.error
        # Java stores aliases in lower case.
        if alias is not None and (alias in self.keys or alias.lower() in self.keys):
            return f"put the key that the node used into {self.origin}"
        names = ", ".join(sorted(self.keys)) or "no secret key"
        return f"{self.origin} contains {names}"


class KeySource:
    """Reads the keystore when it is needed, and again when the file changes."""

    def __init__(self, settings: KeystoreSettings | None) -> None:
        self._settings = settings
        self._lock = Lock()
        self._seen: tuple[int, int, int] | None = None
        self._keystore: Keystore | None = None

    def keystore(self) -> Keystore:
        """The current keystore. Thread-safe."""
        if self._settings is None:
            return Keystore({}, _NO_KEYSTORE, "")
        with self._lock:
            seen = _identity(self._settings.path)
            if self._keystore is None or seen is None or seen != self._seen:
                self._seen, self._keystore = seen, _read(self._settings)
            return self._keystore


def _identity(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def _read(settings: KeystoreSettings) -> Keystore:
    origin = f"the keystore {settings.path} ({settings.origin})"
    try:
        return Keystore(_keys(settings), None, origin)
    except OSError as failure:
        error = f"{origin} cannot be read: {failure.strerror or failure}"
    except UnreadableKeystoreError as failure:
        error = f"{origin} cannot be read: {failure}"
    return Keystore({}, error, origin)


def _keys(settings: KeystoreSettings) -> dict[str, bytes]:
    if not settings.path.is_absolute():
        raise UnreadableKeystoreError(
            "its path is relative to the node's working directory; set commit.log.keystore.path"
        )
    data = read_regular(settings.path.resolve(), _MAX_BYTES)
    store_password = settings.store_password
    key_password = settings.key_password or store_password
    if data.startswith(_JKS_MAGIC):
        raise UnreadableKeystoreError("it is a JKS keystore, which cannot contain secret keys")
    found = "JCEKS" if data.startswith(MAGIC) else "PKCS12"
    wanted = (settings.store_type or found).upper()
    # Java's JKS also reads PKCS12.
    if wanted not in (found, "JKS"):
        raise UnreadableKeystoreError(f"it is not a {wanted} keystore")
    read = read_jceks if found == "JCEKS" else read_pkcs12
    return read(data, store_password, key_password)


def open_segment(
    path: Path, name: str, keystore: KeySource, position: int = 0, *, follow_links: bool = True
) -> SegmentReader:
    """Opens a segment; reads the keystore only if it is encrypted. Raises the errors of
    `SegmentReader`; `SegmentKeyError` includes the remedy."""
    try:
        return SegmentReader(str(path), name=name, position=position, follow_links=follow_links)
    except SegmentKeyError:
        with with_key_advice(keystore):
            keys = keystore.keystore().keys
            return SegmentReader(
                str(path), name=name, position=position, keys=keys, follow_links=follow_links
            )


@contextmanager
def with_key_advice(keystore: KeySource) -> Iterator[None]:
    """Adds the remedy to a `SegmentKeyError`."""
    try:
        yield
    except SegmentKeyError as error:
        advice = keystore.keystore().advice(error.alias)
        raise SegmentKeyError(f"{error}; {advice}", error.alias) from None

"""The interface of a remote store, which holds named files in one directory, and its settings."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol


class StoreError(Exception):
    """A request to the store failed; the message says why and what to do.

    `is_segment_specific`: other segments may succeed, so the agent sends them first.
    `is_forbidden`: a right is missing, so a retry does not help.
    """

    def __init__(
        self, message: str, *, is_segment_specific: bool = False, is_forbidden: bool = False
    ) -> None:
        super().__init__(message)
        self.is_segment_specific = is_segment_specific
        self.is_forbidden = is_forbidden


class StoreStoppedError(Exception):
    """A request was cancelled because the agent stops."""


class Addressed(Protocol):
    """Anything with an address."""

    @property
    def address(self) -> str:
        """Address for messages and logs."""


class Store(Addressed, Protocol):
    """A remote store. Not thread-safe. The first request loads its client."""

    def put(self, file: Path) -> bool:
        """Sends a file and compares the checksums. Returns False if the store already had it.
        Raises StoreError, and OSError for the file."""

    def names(self) -> list[str]:
        """Returns the file names in the store. Raises StoreError."""

    def get(self, name: str, target: Path) -> bool:
        """Writes a file durably to `target`, and compares the checksums. Returns False if the store
        does not contain it. Raises StoreError, and OSError for the target."""

    def remove(self, name: str) -> None:
        """Deletes a file if it exists. Raises StoreError."""


class StoppableStore(Store, Protocol):
    """A store with requests that can be cancelled; cancelled requests raise StoreStoppedError."""

    def stop(self) -> None:
        """Cancels the current request and all later requests. Thread-safe."""

    def close(self) -> None:
        """Releases resources. Call it on the thread that sends requests."""


def first_line(error: BaseException, text: str = "") -> str:
    """Return the first line of an error, or of its `text`, without a full stop."""
    lines = (text or str(error)).strip().splitlines()
    return (lines[0] if lines else type(error).__name__).rstrip(".: ")


def upload_mismatch(file_name: str, address: str) -> str:
    return (
        f"{file_name}: the checksum in {address} differs from the sent file; the agent sends it "
        "again."
    )


def download_mismatch(file_name: str, address: str) -> str:
    return (
        f"{file_name}: the checksum of the fetched file differs from {address}; the agent fetches "
        "it again."
    )


@dataclass(frozen=True, slots=True)
class RemoteDirectory:
    """A bucket and a prefix of object names, such as the value of
    `remote.commit.log.relocation.dir`; the prefix has no outer slashes and may be empty.

    `scheme` is the scheme of the store's addresses.
    """

    bucket: str
    prefix: str
    scheme: str = "gs"

    def __str__(self) -> str:
        parts = (self.bucket, self.prefix)
        return f"{self.scheme}://" + "/".join(part for part in parts if part)

    def inside(self, *names: str) -> "RemoteDirectory":
        return replace(self, prefix="/".join(part for part in (self.prefix, *names) if part))

    def object_name(self, file_name: str) -> str:
        return "/".join(part for part in (self.prefix, file_name) if part)


@dataclass(frozen=True, slots=True)
class S3Options:
    """Options of S3 and compatible servers. Credentials come from the client's default chain."""

    endpoint: str | None = None
    """URL of the server; None: Amazon's server."""
    region: str | None = None
    """None: the region of the environment or profile, else `us-east-1`."""
    path_style: bool | None = None
    """Whether the bucket is in the path, not in the host name; None: only with an endpoint."""
    encryption: str | None = None
    """`AES256`, `aws:kms` or `aws:kms:dsse`; None: the bucket's default."""
    kms_key_id: str | None = None
    storage_class: str | None = None
    conditional_writes: bool = True
    """Whether uploads require that the object does not exist (`If-None-Match`)."""


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Credentials and limits."""

    key_file: Path | None = None
    """Key of a service account, for Google; None means Application Default Credentials."""
    chunk_bytes: int = 4 << 20
    timeout_s: float = 60.0
    """For each response, and for the client's retries of one request."""
    s3: S3Options = field(default_factory=S3Options)

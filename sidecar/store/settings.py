"""What all kinds of stores are made from."""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class S3Options:
    """Options of S3 and of what speaks its protocol. Credentials come from the client's chain."""

    endpoint: str | None = None
    """URL of the server; None: Amazon's."""
    region: str | None = None
    """None: that of the environment or of the profile, else `us-east-1`."""
    path_style: bool | None = None
    """Whether the bucket is in the path instead of the host name; None: with an endpoint."""
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

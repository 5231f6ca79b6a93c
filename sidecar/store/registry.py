"""Kinds of remote stores, by the scheme of their addresses.

A new kind requires one module and one entry here. Properties, transfers, checks and commands use
the entry.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from sidecar.store.base import RemoteDirectory, Store, StoreSettings
from sidecar.store.gcs import CREATE, GET, LIST, GcsStore
from sidecar.store.s3 import S3Store

_SHORTEST, _LONGEST_PART, _LONGEST = 3, 63, 222
_GCS_BUCKET = re.compile(r"[a-z0-9]([a-z0-9._-]*[a-z0-9])?")
_S3_BUCKET = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")


@dataclass(frozen=True, slots=True)
class StoreKind:
    name: str
    """Value of `commit.log.transfer.class`."""
    title: str
    schemes: tuple[str, ...]
    """Schemes of its addresses; messages use the first."""
    create: Callable[[RemoteDirectory, StoreSettings], Store]
    """Creates the store. Raises ConfigError for a missing package or invalid credentials."""
    bucket_problem: Callable[[str], str | None]
    """Returns why a bucket name is invalid, or None if it is valid."""
    send_rights: Sequence[str]
    """Rights that uploads need."""
    send_remedy: str
    """How to grant `send_rights`; `{bucket}` and `{prefix}` are replaced."""
    fetch_remedy: str
    """How to grant the right to delete, which only retries of quarantined segments need."""
    settings_remedy: str
    """What to correct if the store cannot be created."""

    @property
    def example(self) -> str:
        return f"{self.schemes[0]}://bucket/prefix"


def _gcs_bucket_problem(bucket: str) -> str | None:
    """Source: "About Cloud Storage buckets"."""
    longest = _LONGEST if "." in bucket else _LONGEST_PART
    is_long = len(bucket) > longest or any(len(p) > _LONGEST_PART for p in bucket.split("."))
    if len(bucket) < _SHORTEST or is_long:
        return (
            f"the bucket `{bucket}` has {len(bucket)} characters: names have {_SHORTEST} to "
            f"{_LONGEST_PART}; with dots up to {_LONGEST}, {_LONGEST_PART} between dots"
        )
    if not _GCS_BUCKET.fullmatch(bucket):
        return (
            f"the bucket `{bucket}` must have only lower-case letters, digits, `-`, `_` and `.`, "
            "with a letter or digit at both ends"
        )
    return None


def _s3_bucket_problem(bucket: str) -> str | None:
    """Source: "General purpose bucket naming rules"; other servers also allow upper case and `_`,
    and 255 characters as Amazon once did."""
    if not _SHORTEST <= len(bucket) <= 255:
        return (
            f"the bucket `{bucket}` has {len(bucket)} characters: names have {_SHORTEST} to "
            f"{_LONGEST_PART}"
        )
    if not _S3_BUCKET.fullmatch(bucket):
        return (
            f"the bucket `{bucket}` must have only letters, digits, `-` and `.`, with a letter or "
            "digit at both ends"
        )
    return None


_GRANT = "gcloud storage buckets add-iam-policy-binding gs://{bucket} --member=… --role="
_KINDS = (
    StoreKind(
        "gcs",
        "Google Cloud Storage",
        ("gs", "gcs"),
        GcsStore,
        _gcs_bucket_problem,
        (CREATE, GET, LIST),
        "Grant Storage Object Creator and Storage Object Viewer: "
        f"{_GRANT}roles/storage.objectCreator, then …objectViewer.",
        f"Grant Storage Object User: {_GRANT}roles/storage.objectUser.",
        "Correct storage.credential.key.file.",
    ),
    StoreKind(
        "s3",
        "S3",
        ("s3", "s3a"),
        S3Store,
        _s3_bucket_problem,
        ("s3:PutObject", "s3:GetObject", "s3:ListBucket"),
        "Allow s3:PutObject and s3:GetObject on arn:aws:s3:::{bucket}/{prefix}*, and "
        "s3:ListBucket on arn:aws:s3:::{bucket}.",
        "Allow s3:DeleteObject on arn:aws:s3:::{bucket}/{prefix}*.",
        "Install the package, or correct storage.s3.*.",
    ),
)
STORES: Mapping[str, StoreKind] = MappingProxyType({kind.name: kind for kind in _KINDS})
"""The kinds of stores to which segments can be sent, by name."""
_BY_SCHEME = {scheme: kind for kind in _KINDS for scheme in kind.schemes}


def store_kind(directory: RemoteDirectory) -> StoreKind:
    return _BY_SCHEME[directory.scheme]


def create_store(directory: RemoteDirectory, settings: StoreSettings) -> Store:
    """Create the store of a directory, without a request. Raises ConfigError."""
    return store_kind(directory).create(directory, settings)


def parse_remote_directory(text: str) -> RemoteDirectory:
    """Parses `gs://bucket/prefix` or `s3://bucket/prefix`. Raises ValueError."""
    scheme, separator, rest = text.partition("://")
    kind = _BY_SCHEME.get(scheme) if separator else None
    if kind is None:
        examples = " or ".join(each.example for each in _KINDS)
        raise ValueError(f"must be {examples}; the prefix is optional")
    bucket, _, prefix = rest.partition("/")
    problem = kind.bucket_problem(bucket) if bucket else "the name of the bucket is missing"
    if problem is not None:
        raise ValueError(f"must be {kind.example}, and {problem}")
    return RemoteDirectory(bucket, prefix.strip("/"), kind.schemes[0])

"""The value of `remote.commit.log.relocation.dir`."""

import re
from dataclasses import dataclass

_SCHEMES = ("gs://", "gcs://")
_BUCKET = re.compile(r"[a-z0-9]([a-z0-9._-]*[a-z0-9])?")
_SHORTEST, _LONGEST_PART, _LONGEST = 3, 63, 222


@dataclass(frozen=True, slots=True)
class RemoteDirectory:
    """A bucket and a prefix of object names, without slashes at its ends; may be empty."""

    bucket: str
    prefix: str

    def __str__(self) -> str:
        return "gs://" + "/".join(part for part in (self.bucket, self.prefix) if part)

    def inside(self, *names: str) -> "RemoteDirectory":
        """A subdirectory."""
        return RemoteDirectory(
            self.bucket, "/".join(part for part in (self.prefix, *names) if part)
        )


def parse_remote_directory(text: str) -> RemoteDirectory:
    """Parses `gs://bucket/prefix`, or Debezium's `gcs://`. Raises ValueError."""
    scheme = next((scheme for scheme in _SCHEMES if text.startswith(scheme)), None)
    bucket, _, prefix = text.removeprefix(scheme or "").partition("/")
    if scheme is None:
        raise ValueError("must be gs://bucket/prefix (or gcs://…); the prefix is optional")
    problem = _bucket_problem(bucket)
    if problem is not None:
        raise ValueError(f"must be gs://bucket/prefix, and {problem}")
    return RemoteDirectory(bucket, prefix.strip("/"))


def _bucket_problem(bucket: str) -> str | None:
    """Why Google Cloud Storage rejects a bucket name. Source: "About Cloud Storage buckets"."""
    if not bucket:
        return "the name of the bucket is missing"
    longest = _LONGEST if "." in bucket else _LONGEST_PART
    is_long = len(bucket) > longest or any(len(p) > _LONGEST_PART for p in bucket.split("."))
    if len(bucket) < _SHORTEST or is_long:
        return (
            f"the bucket `{bucket}` has {len(bucket)} characters: names have {_SHORTEST} to "
            f"{_LONGEST_PART}; with dots up to {_LONGEST}, {_LONGEST_PART} between dots"
        )
    if not _BUCKET.fullmatch(bucket):
        return (
            f"the bucket `{bucket}` must have only lower-case letters, digits, `-`, `_` and `.`, "
            "with a letter or digit at both ends"
        )
    return None

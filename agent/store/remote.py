"""The place on another machine that `remote.commit.log.relocation.dir` names."""

import re
from dataclasses import dataclass

_SCHEMES = ("gs://", "gcs://")
_BUCKET = re.compile(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]")


@dataclass(frozen=True, slots=True)
class RemoteDirectory:
    """A bucket and what the names of objects in it begin with; `prefix` has no slash at its ends
    and may be empty."""

    bucket: str
    prefix: str

    def __str__(self) -> str:
        return "gs://" + "/".join(part for part in (self.bucket, self.prefix) if part)

    def inside(self, *names: str) -> "RemoteDirectory":
        """A directory in it."""
        return RemoteDirectory(
            self.bucket, "/".join(part for part in (self.prefix, *names) if part)
        )


def parse_remote_directory(text: str) -> RemoteDirectory:
    """`gs://bucket/prefix`, or `gcs://` as Debezium's manual has it. Raises ValueError."""
    scheme = next((scheme for scheme in _SCHEMES if text.startswith(scheme)), None)
    bucket, _, prefix = text.removeprefix(scheme or "").partition("/")
    if scheme is None or not _BUCKET.fullmatch(bucket):
        raise ValueError("must be gs://bucket/prefix (or gcs://…), the prefix being optional")
    return RemoteDirectory(bucket, prefix.strip("/"))

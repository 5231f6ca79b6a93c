"""A directory in a bucket, such as the value of `remote.commit.log.relocation.dir`."""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class RemoteDirectory:
    """A bucket and a prefix of object names, without slashes at its ends; may be empty.

    `scheme` is that of the store's addresses.
    """

    bucket: str
    prefix: str
    scheme: str = "gs"

    def __str__(self) -> str:
        parts = (self.bucket, self.prefix)
        return f"{self.scheme}://" + "/".join(part for part in parts if part)

    def inside(self, *names: str) -> "RemoteDirectory":
        """A subdirectory."""
        return replace(self, prefix="/".join(part for part in (self.prefix, *names) if part))

    def object_name(self, file_name: str) -> str:
        """Name of a file's object in the bucket."""
        return "/".join(part for part in (self.prefix, file_name) if part)

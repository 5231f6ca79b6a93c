"""The parts that object stores share: listing, downloads, and errors of local files.

Each error of a cloud client becomes a StoreError. An error of a local file propagates, because the
caller treats a full disk and a lost connection differently.
"""

import errno
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Generic, TypeVar

from sidecar.files.directories import sync_directory, sync_file, temporary_of
from sidecar.store.base import RemoteDirectory, StoreError
from sidecar.store.bounded_responses import MAX_NAMES

READ_BYTES = 1 << 20
# `commitlog_segment_size` is less than 2 GiB; the last mutation of a segment may exceed it.
_MAX_OBJECT_BYTES = 4 << 30
# These write errors have no file name.
_DISK_ERRORS = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EIO))

Rights = TypeVar("Rights")


class ObjectStore(ABC, Generic[Rights]):
    """A directory in a bucket. `Rights` describes what a request needs."""

    list_rights: Rights
    get_rights: Rights

    def __init__(self, directory: RemoteDirectory) -> None:
        self._directory = directory

    @property
    def address(self) -> str:
        return str(self._directory)

    def names(self) -> list[str]:
        """Return the file names in the store. Raises StoreError."""
        prefix = f"{self._directory.prefix}/".removeprefix("/")
        with self._translate_errors("requests", self.list_rights):
            found = list(islice(self._list_objects(prefix), MAX_NAMES + 1))
        if len(found) > MAX_NAMES:
            raise StoreError(
                f"{self.address} lists more than {MAX_NAMES} objects. Move other objects to "
                "another prefix."
            )
        return [name.removeprefix(prefix) for name in found]

    def get(self, name: str, target: Path) -> bool:
        """Write a file durably to `target`. Return False if the store does not contain it."""
        temporary = temporary_of(target)
        try:
            if not self._download(name, temporary):
                return False
            sync_file(temporary)
            temporary.replace(target)
            sync_directory(target.parent)
        finally:
            temporary.unlink(missing_ok=True)
        return True

    @contextmanager
    def _translate_errors(self, file_name: str, rights: Rights) -> Iterator[None]:
        try:
            yield
        except (StoreError, MemoryError):
            raise
        except Exception as error:
            # Connection errors of `requests` are OSErrors without a file name.
            is_disk_error = isinstance(error, OSError) and error.errno in _DISK_ERRORS
            if is_disk_error or (isinstance(error, OSError) and error.filename is not None):
                raise
            raise self._store_error(error, file_name, rights) from error

    def _require_segment_size(self, name: str, size_bytes: int) -> None:
        if size_bytes > _MAX_OBJECT_BYTES:
            raise StoreError(
                f"{self.address}: {name} has {size_bytes} bytes, more than any segment. Check the "
                "object and delete it.",
                is_segment_specific=True,
            )

    @abstractmethod
    def _list_objects(self, prefix: str) -> Iterable[str]:
        """Return the names of the objects in the directory `prefix`, including the prefix."""

    @abstractmethod
    def _download(self, name: str, temporary: Path) -> bool:
        """Write an object to a new file, and compare size and checksum. Return False if there is no
        object. Raises StoreError, and OSError for the file."""

    @abstractmethod
    def _store_error(self, error: Exception, file_name: str, rights: Rights) -> StoreError:
        """Convert an error of the client."""

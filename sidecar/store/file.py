"""A directory of this machine as a store, such as a mounted network file system."""

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sidecar.files.fsync import sync_directory, sync_file
from sidecar.files.regular import open_new
from sidecar.store.base import StoreError, download_mismatch, upload_mismatch
from sidecar.store.remote_directory import RemoteDirectory

WRITE = "write access"
_CHECK_NAME = ".cdc-check"


class FileStore:
    """A file is complete once it has its name. For one thread.

    It creates the directory in its parent, which must exist: a missing mount is an error.
    """

    def __init__(self, directory: RemoteDirectory) -> None:
        self._directory = directory
        self._path = Path(f"/{directory.prefix}")

    @property
    def address(self) -> str:
        return str(self._directory)

    def missing_rights(self) -> list[str]:
        """`write access` when the directory denies it. Creates a missing directory, and writes and
        deletes a file. Raises StoreError."""
        try:
            with self._translated():
                self._path.mkdir(exist_ok=True)
                probe = self._path / f"{_CHECK_NAME}.{os.getpid()}"
                probe.write_bytes(b"")
                probe.unlink()
        except StoreError as error:
            if error.is_forbidden:
                return [WRITE]
            raise
        return []

    def put(self, file: Path) -> bool:
        target = self._path / file.name
        sent = _checksum(file)
        with self._translated():
            if target.is_file() and _checksum(target) == sent:
                # Its writer may have ended before it was durable.
                sync_file(target)
                return False
            self._path.mkdir(exist_ok=True)
            temporary = self._path / f".{file.name}.{os.getpid()}.tmp"
            try:
                _copy(file, temporary)
                if _checksum(temporary) != sent:
                    raise StoreError(upload_mismatch(file.name, self.address))
                sync_file(temporary)
                temporary.replace(target)
            finally:
                temporary.unlink(missing_ok=True)
            sync_directory(self._path)
        return True

    def names(self) -> list[str]:
        with self._translated():
            if not self._path.is_dir():
                return []
            return [
                each.name
                for each in self._path.iterdir()
                if each.is_file() and not each.name.startswith(".")
            ]

    def get(self, name: str, target: Path) -> bool:
        source = self._path / name
        with self._translated():
            if not source.is_file():
                return False
            expected = _checksum(source)
        temporary = target.with_name(f".{target.name}.tmp")
        try:
            _copy(source, temporary)
            if _checksum(temporary) != expected:
                raise StoreError(download_mismatch(name, self.address))
            sync_file(temporary)
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
        sync_directory(target.parent)
        return True

    def remove(self, name: str) -> None:
        with self._translated():
            (self._path / name).unlink(missing_ok=True)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            is_denied = isinstance(error, PermissionError)
            remedy = (
                "Grant the agent's user the right to write there."
                if is_denied
                else "Check the directory, its file system and the free space."
            )
            raise StoreError(
                f"{self.address} cannot be used: {error.strerror or error}. {remedy}",
                is_forbidden=is_denied,
            ) from error


def _checksum(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _copy(source: Path, target: Path) -> None:
    with source.open("rb") as content, os.fdopen(open_new(target), "wb") as file:
        shutil.copyfileobj(content, file)

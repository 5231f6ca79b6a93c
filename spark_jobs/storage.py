"""Small text files in a checkpoint, on any file system that Hadoop supports."""

from typing import Any

from pyspark.sql import SparkSession

_OLD = ".old"
"""Suffix of the file that a write replaces, until the next write."""


class Folder:
    """A folder for small UTF-8 files, on a Hadoop file system.

    Hadoop's file systems have no common way to replace a file atomically. So a write renames the
    existing file first, and a read falls back to it: a crash leaves the old or the new text.
    """

    def __init__(self, session: SparkSession, uri: str) -> None:
        context = session.sparkContext
        assert context._jvm is not None
        self._jvm: Any = context._jvm
        self._path = self._jvm.org.apache.hadoop.fs.Path(uri)
        self._files = self._path.getFileSystem(context._jsc.hadoopConfiguration())

    def exists(self, name: str) -> bool:
        return self._has(name) or self._has(name + _OLD)

    def read_text(self, name: str) -> str:
        """The text of the last complete write."""
        stream = self._files.open(self._child(name if self._has(name) else name + _OLD))
        try:
            return bytes(stream.readAllBytes()).decode("utf-8")
        finally:
            stream.close()

    def write_text(self, name: str, text: str) -> None:
        """Create or replace a file."""
        unfinished = f".{name}.tmp"
        stream = self._files.create(self._child(unfinished), True)
        try:
            stream.write(bytearray(text.encode("utf-8")))
        finally:
            stream.close()
        # Without a current file, the old one is the last complete write.
        if self._has(name):
            self._files.delete(self._child(name + _OLD), False)
            self._rename(name, name + _OLD)
        self._rename(unfinished, name)

    def _rename(self, name: str, new_name: str) -> None:
        if not self._files.rename(self._child(name), self._child(new_name)):
            raise OSError(
                f"{self._child(name).toString()}: the file system did not rename it to {new_name}. "
                "Check the permissions of the folder."
            )

    def _has(self, name: str) -> bool:
        return bool(self._files.exists(self._child(name)))

    def _child(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self._path, name)

"""Small text files in a checkpoint, on any file system that Hadoop supports."""

from typing import Any

from pyspark.sql import SparkSession


class Folder:
    """A folder for small UTF-8 files, on a Hadoop file system."""

    def __init__(self, session: SparkSession, uri: str) -> None:
        context = session.sparkContext
        assert context._jvm is not None
        self._jvm: Any = context._jvm
        self._path = self._jvm.org.apache.hadoop.fs.Path(uri)
        self._files = self._path.getFileSystem(context._jsc.hadoopConfiguration())

    def exists(self, name: str) -> bool:
        return bool(self._files.exists(self._child(name)))

    def read_text(self, name: str) -> str:
        stream = self._files.open(self._child(name))
        try:
            return bytes(stream.readAllBytes()).decode("utf-8")
        finally:
            stream.close()

    def write_text(self, name: str, text: str) -> None:
        """Replace a file, atomically if the file system renames atomically."""
        unfinished = self._child(f".{name}.tmp")
        stream = self._files.create(unfinished, True)
        try:
            stream.write(bytearray(text.encode("utf-8")))
        finally:
            stream.close()
        self._files.delete(self._child(name), False)
        if not self._files.rename(unfinished, self._child(name)):
            raise OSError(
                f"{self._child(name).toString()}: the file system did not rename the new file. "
                "Check the permissions of the folder."
            )

    def _child(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self._path, name)

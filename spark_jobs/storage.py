"""Small text files in a checkpoint, on any Hadoop file system, and the checkpoint's owner."""

import json
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from pyspark.sql import SparkSession

from spark_jobs.errors import CheckpointError

_OLD = ".old"
"""Suffix of a replaced file, which stays until the next write."""
OWNER_FILE = "cdc-job.json"
_OWNER_FORMAT = 1


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

    def read_text(self, name: str, default: str | None = None) -> str:
        """The text of the last complete write. `default` replaces a missing file."""
        if default is not None and not self.exists(name):
            return default
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


@dataclass(frozen=True, slots=True)
class CheckpointOwner:
    """The job that owns a checkpoint. `fixed` contains the options that must not change.

    `store_id` is the id of the version store that the job fills or follows, or empty.
    """

    job: str
    topics: str
    fixed: Mapping[str, str]
    store_id: str = ""


@dataclass(frozen=True, slots=True)
class OwnedCheckpoint:
    """A checkpoint of this job. `id` is unique per checkpoint, so it can identify transactions."""

    id: str
    is_new: bool


def acquire_checkpoint(session: SparkSession, uri: str, owner: CheckpointOwner) -> OwnedCheckpoint:
    """Register `owner` in a new checkpoint, or verify the owner of an existing one.

    Spark accepts any checkpoint. With the checkpoint of another job, it would silently skip offsets
    or drop events.

    Raises `CheckpointError` that lists each difference.
    """
    folder = Folder(session, uri)
    if folder.exists(OWNER_FILE):
        known = json.loads(folder.read_text(OWNER_FILE))
        differences = list(_differences(known, owner))
        if differences:
            raise CheckpointError(
                f"The checkpoint {uri} does not match this job: {'; '.join(differences)}. Use the "
                "same options, or start with a new checkpoint."
            )
        return OwnedCheckpoint(known["id"], is_new=False)
    if folder.exists("metadata"):
        raise CheckpointError(
            f"The checkpoint {uri} was written by another program: it has no {OWNER_FILE}. Use "
            "a different checkpoint."
        )
    checkpoint = OwnedCheckpoint(str(uuid.uuid4()), is_new=True)
    content = {"format": _OWNER_FORMAT, "id": checkpoint.id, **asdict(owner)}
    folder.write_text(OWNER_FILE, json.dumps(content, indent=2) + "\n")
    return checkpoint


def _differences(known: Mapping[str, object], owner: CheckpointOwner) -> list[str]:
    if known.get("format") != _OWNER_FORMAT:
        return [f"its format is {known.get('format')}, but this release writes {_OWNER_FORMAT}"]
    found = []
    for name, now in (("job", owner.job), ("topics", owner.topics)):
        if known[name] != now:
            found.append(f"its {name} is `{known[name]}`, not `{now}`")
    before = known["fixed"]
    assert isinstance(before, dict)
    for name in sorted(before.keys() | owner.fixed.keys()):
        was, now = before.get(name, ""), owner.fixed.get(name, "")
        if was != now:
            found.append(f"its `{name}` is `{was}`, not `{now}`")
    # If `output` changed, the id of the store differs too.
    if not found and known.get("store_id", owner.store_id) != owner.store_id:
        found.append("its version store was removed, and there is a new one at the same place")
    return found

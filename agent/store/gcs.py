"""Google Cloud Storage as a store of segments.

Objects are named `<prefix>/<node id>/archive/CommitLog-7-1699.log`, quarantined ones
`<prefix>/<node id>/error/…`: segments of two nodes can have the same name. Segments of more than
8 MiB go by a resumable upload, in chunks: after a lost connection or an answer of 5xx the client
goes on at the chunk.
An object is made on the condition that there is none of its name (generation 0), so nobody's is
ever overwritten. What is there already with the same checksum counts as sent.

The client is imported with the first request: it takes a second of a processor and thirty
megabytes.
"""

import base64
import errno
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from agent.store.base import StoreError
from agent.store.bounded_responses import MAX_NAMES, bound_answers
from agent.store.gcs_errors import (
    CREATE,
    DELETE,
    GET,
    LIST,
    RequestContext,
    download_mismatch,
    explained,
    upload_mismatch,
)
from agent.store.remote_directory import RemoteDirectory
from sidecar.errors import ConfigError
from sidecar.files.fsync import sync_directory, sync_file
from sidecar.files.regular import open_new, open_regular

_CHUNK_UNIT_BYTES = 256 << 10
_READ_BYTES = 1 << 20
# `commitlog_segment_size` is less than 2 GiB; a segment may end with one mutation more.
_MAX_OBJECT_BYTES = 4 << 30
_RETRY_FIRST_S, _RETRY_LONGEST_S = 0.5, 8.0
# Without the right to list Google answers 403 instead of 404 for an object that is not there.
_TO_SEND = f"{CREATE}, {GET} and {LIST}"
# Such an error of writing has no name of a file.
_OF_DISKS = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EIO))


@dataclass(frozen=True, slots=True)
class GcsSettings:
    """Where to, as whom, and how patiently."""

    directory: RemoteDirectory
    key_file: Path | None = None
    """Of a service account; None: Application Default Credentials."""
    chunk_bytes: int = 4 << 20
    timeout_s: float = 60.0
    """For each answer, and for the client's own repeats of one request."""


class GcsStore:
    """A directory in a bucket. Raises ConfigError for a key file that cannot be one."""

    def __init__(self, settings: GcsSettings) -> None:
        self._settings = settings
        self._bucket: Any = None
        if settings.key_file is not None:
            _require_key(settings.key_file)

    @property
    def where(self) -> str:
        return str(self._settings.directory)

    def missing_rights(self) -> list[str]:
        """Which of the rights that the agent uses it does not have; nothing is written. Empty too
        where the server does not know the question, as emulators. Raises StoreError, for a bucket
        that is not there too."""
        from google.api_core.exceptions import NotFound

        wanted = [CREATE, GET, LIST, DELETE]
        with self._explaining("requests", _TO_SEND):
            bucket, asked = self._opened_bucket(), self._asked()
            try:
                held = bucket.test_iam_permissions(wanted, **asked)
            except NotFound as error:
                if not bucket.exists(**asked):
                    raise self._asking.no_bucket() from error
                return []
        return [right for right in wanted if right not in held]

    def put(self, file: Path) -> bool:
        size_bytes, crc32c = _size_and_checksum(file)
        with self._explaining(file.name, _TO_SEND):
            return self._put(file, size_bytes, crc32c)

    def names(self) -> list[str]:
        prefix = f"{self._settings.directory.prefix}/".removeprefix("/")
        with self._explaining("requests", LIST):
            blobs = self._opened_bucket().list_blobs(prefix=prefix, delimiter="/", **self._asked())
            found = [blob.name.removeprefix(prefix) for blob in islice(blobs, MAX_NAMES + 1)]
        if len(found) > MAX_NAMES:
            raise StoreError(
                f"{self.where} lists more than {MAX_NAMES} objects. Move other objects to another "
                "prefix."
            )
        return found

    def get(self, name: str, target: Path) -> bool:
        temporary = target.with_name(f".{target.name}.tmp")
        try:
            return self._fetched(name, temporary, target)
        finally:
            temporary.unlink(missing_ok=True)

    def _fetched(self, name: str, temporary: Path, target: Path) -> bool:
        from google.cloud.storage.exceptions import DataCorruption

        with self._explaining(name, GET):
            bucket, asked = self._opened_bucket(), self._asked()
            there = bucket.get_blob(self._object(name), **asked)
            if there is None:
                self._require_bucket(name)
                return False
            if there.size > _MAX_OBJECT_BYTES:
                raise StoreError(
                    f"{self.where} has {name} of {there.size} bytes, which no segment has: look "
                    "at it, and delete it there.",
                    is_segment_specific=True,
                )
            blob = bucket.blob(self._object(name), generation=there.generation)
            try:
                with os.fdopen(open_new(temporary), "wb") as stream:
                    into = _Bounded(stream, there.size)
                    blob.download_to_file(into, checksum="crc32c", **asked)
            except DataCorruption as error:
                raise StoreError(download_mismatch(name, self.where)) from error
        if (there.size, there.crc32c) != _size_and_checksum(temporary):
            raise StoreError(download_mismatch(name, self.where))
        sync_file(temporary)
        temporary.replace(target)
        sync_directory(target.parent)
        return True

    def _require_bucket(self, name: str) -> None:
        """Asks in a way that tells a bucket that is not there from an object that is not."""
        from google.api_core.exceptions import Forbidden

        with suppress(Forbidden):
            prefix = self._object(name)
            list(self._opened_bucket().list_blobs(prefix=prefix, max_results=1, **self._asked()))

    def remove(self, name: str) -> None:
        from google.api_core.exceptions import NotFound

        with self._explaining(name, DELETE):
            try:
                self._opened_bucket().delete_blob(self._object(name), **self._asked())
            except NotFound:
                # Whoever took it away has done what is asked.
                return

    @property
    def _asking(self) -> RequestContext:
        directory = self._settings.directory
        return RequestContext(self.where, directory.bucket, self._settings.key_file)

    def _asked(self) -> dict[str, Any]:
        from google.cloud.storage.retry import DEFAULT_RETRY

        timeout_s = self._settings.timeout_s
        retry = DEFAULT_RETRY.with_delay(_RETRY_FIRST_S, _RETRY_LONGEST_S).with_timeout(timeout_s)
        return {"timeout": timeout_s, "retry": retry}

    def _object(self, name: str) -> str:
        return "/".join(part for part in (self._settings.directory.prefix, name) if part)

    @contextmanager
    def _explaining(self, file_name: str, rights: str) -> Iterator[None]:
        """Raises what the client raises as StoreError; errors of files pass."""
        try:
            yield
        except StoreError:
            raise
        except Exception as error:
            # requests' errors of connections are OSErrors; those of the file have its name.
            of_disk = isinstance(error, OSError) and error.errno in _OF_DISKS
            if of_disk or (isinstance(error, OSError) and error.filename is not None):
                raise
            raise explained(error, file_name, self._asking, rights) from error

    def _put(self, file: Path, size_bytes: int, crc32c: str) -> bool:
        from google.api_core.exceptions import PreconditionFailed

        bucket, name, asked = self._opened_bucket(), self._object(file.name), self._asked()

        def is_there() -> bool:
            found = bucket.get_blob(name, **asked)
            if found is None:
                return False
            if (found.size, found.crc32c) == (size_bytes, crc32c):
                return True
            raise StoreError(
                f"{self.where} has another {file.name} ({found.size} bytes, CRC32C "
                f"{found.crc32c}; ours: {size_bytes}, {crc32c}), which is not overwritten: see "
                "whose it is, and move it or ours away.",
                is_segment_specific=True,
            )

        if is_there():
            return False
        units = max(1, self._settings.chunk_bytes // _CHUNK_UNIT_BYTES)
        blob = bucket.blob(name, chunk_size=units * _CHUNK_UNIT_BYTES)
        with os.fdopen(open_regular(file, os.O_RDONLY), "rb") as stream:
            try:
                blob.upload_from_file(
                    stream,
                    size=size_bytes,
                    content_type="application/octet-stream",
                    if_generation_match=0,
                    checksum="crc32c",
                    **asked,
                )
            except PreconditionFailed:
                # It came there meanwhile, or the answer to our own last request was lost.
                if is_there():
                    return False
                raise
        # The client looks at the checksum of resumable uploads alone.
        if (blob.size, blob.crc32c) != (size_bytes, crc32c):
            raise StoreError(upload_mismatch(file.name, self.where))
        return True

    def _opened_bucket(self) -> Any:
        from google.cloud import storage

        if self._bucket is None:
            key_file = self._settings.key_file
            if key_file is None:
                client = storage.Client(project=None)
            else:
                try:
                    client = storage.Client.from_service_account_json(str(key_file))
                except OSError as error:
                    # With the name of its file it would pass for an error of a segment's file.
                    raise StoreError(
                        f"storage.credential.key.file: {key_file} cannot be read: "
                        f"{error.strerror or error}."
                    ) from error
            bound_answers(client._http)
            self._bucket = client.bucket(self._settings.directory.bucket)
        return self._bucket


class _Bounded:
    """A file that takes so many bytes and no more, whatever is sent."""

    def __init__(self, file: BinaryIO, max_bytes: int) -> None:
        self._file = file
        self._left_bytes = max_bytes

    def write(self, content: bytes) -> int:
        self._left_bytes -= len(content)
        if self._left_bytes < 0:
            raise StoreError("The store sends more of an object than it says that there is.")
        return self._file.write(content)


def _size_and_checksum(file: Path) -> tuple[int, str]:
    """Bytes, and their CRC32C as Google writes it. Raises OSError."""
    import google_crc32c

    checksum = size_bytes = 0
    with os.fdopen(open_regular(file, os.O_RDONLY), "rb") as stream:
        while block := stream.read(_READ_BYTES):
            checksum = google_crc32c.extend(checksum, block)
            size_bytes += len(block)
    return size_bytes, base64.b64encode(checksum.to_bytes(4)).decode()


def _require_key(file: Path) -> None:
    try:
        document = json.loads(file.read_bytes())
    except OSError as error:
        raise ConfigError(
            f"storage.credential.key.file: {file} cannot be read: {error.strerror}."
        ) from error
    except ValueError as error:
        raise ConfigError(f"storage.credential.key.file: {file} is no JSON.") from error
    if not isinstance(document, dict) or document.get("type") != "service_account":
        raise ConfigError(
            f"storage.credential.key.file: {file} is no key of a service account "
            '("type": "service_account").'
        )

"""Google Cloud Storage as a store of segments.

Object names are `<prefix>/<node id>/archive/CommitLog-7-1699.log`, and `<prefix>/<node id>/error/…`
for quarantined segments, because segments of two nodes can have the same name. Segments of more
than 8 MiB use a resumable upload in chunks: after a lost connection or a 5xx response the client
resumes with the chunk. Uploads require generation 0, so they never overwrite an object. An existing
object with the same checksum counts as sent.

The client is imported on the first request, because it takes a second of CPU time and 30 MB.
"""

import base64
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from sidecar.bounded_json import bounded_json
from sidecar.errors import ConfigError
from sidecar.files.regular import open_new, open_regular, read_regular
from sidecar.process.extras import require_extra
from sidecar.store.base import (
    RemoteDirectory,
    StoreError,
    StoreSettings,
    download_mismatch,
    first_line,
    upload_mismatch,
)
from sidecar.store.bounded_responses import BoundedFile, bound_responses
from sidecar.store.object_store import READ_BYTES, ObjectStore

CREATE, GET = "storage.objects.create", "storage.objects.get"
LIST, DELETE = "storage.objects.list", "storage.objects.delete"
_CHUNK_UNIT_BYTES = 256 << 10
_MAX_KEY_BYTES = 64 << 10
_RETRY_FIRST_S, _RETRY_LONGEST_S = 0.5, 8.0
# Without the right to list, Google returns 403 instead of 404 for a missing object.
_TO_SEND = f"{CREATE}, {GET} and {LIST}"


class GcsStore(ObjectStore[str]):
    """A directory in a bucket. Raises ConfigError for an invalid key file or a missing package."""

    list_rights = LIST
    get_rights = GET

    def __init__(self, directory: RemoteDirectory, settings: StoreSettings) -> None:
        require_extra("gcs", "Google Cloud Storage (`gs://…`)")
        super().__init__(directory)
        self._settings = settings
        self._bucket: Any = None
        if settings.key_file is not None:
            _require_key(settings.key_file)

    def missing_rights(self) -> list[str]:
        """Return the missing rights without writing anything. Empty if the server, such as an
        emulator, cannot answer. Raises StoreError, even for a missing bucket."""
        from google.api_core.exceptions import NotFound

        wanted = [CREATE, GET, LIST, DELETE]
        with self._translate_errors("requests", _TO_SEND):
            bucket, options = self._open_bucket(), self._request_options()
            try:
                granted = bucket.test_iam_permissions(wanted, **options)
            except NotFound as error:
                if not bucket.exists(**options):
                    raise self._no_bucket() from error
                return []
        return [right for right in wanted if right not in granted]

    def put(self, file: Path) -> bool:
        size_bytes, crc32c = _size_and_checksum(file)
        with self._translate_errors(file.name, _TO_SEND):
            return self._put(file, size_bytes, crc32c)

    def _list_objects(self, prefix: str) -> Iterator[str]:
        blobs = self._open_bucket().list_blobs(
            prefix=prefix, delimiter="/", **self._request_options()
        )
        return (str(blob.name) for blob in blobs)

    def _download(self, name: str, temporary: Path) -> bool:
        from google.cloud.storage.exceptions import DataCorruption

        with self._translate_errors(name, self.get_rights):
            bucket, options = self._open_bucket(), self._request_options()
            there = bucket.get_blob(self._object(name), **options)
            if there is None:
                self._require_bucket(name)
                return False
            self._require_segment_size(name, there.size)
            blob = bucket.blob(self._object(name), generation=there.generation)
            try:
                with os.fdopen(open_new(temporary), "wb") as stream:
                    into = BoundedFile(stream, there.size)
                    blob.download_to_file(into, checksum="crc32c", **options)
            except DataCorruption as error:
                raise StoreError(download_mismatch(name, self.address)) from error
        if (there.size, there.crc32c) != _size_and_checksum(temporary):
            raise StoreError(download_mismatch(name, self.address))
        return True

    def _require_bucket(self, name: str) -> None:
        """Raise StoreError for a missing bucket; `get_blob` treats it like a missing object."""
        from google.api_core.exceptions import Forbidden

        with suppress(Forbidden):
            prefix = self._object(name)
            list(
                self._open_bucket().list_blobs(
                    prefix=prefix, max_results=1, **self._request_options()
                )
            )

    def remove(self, name: str) -> None:
        from google.api_core.exceptions import NotFound

        with self._translate_errors(name, DELETE):
            try:
                self._open_bucket().delete_blob(self._object(name), **self._request_options())
            except NotFound:
                # Already deleted.
                return

    def _request_options(self) -> dict[str, Any]:
        from google.cloud.storage.retry import DEFAULT_RETRY

        timeout_s = self._settings.timeout_s
        retry = DEFAULT_RETRY.with_delay(_RETRY_FIRST_S, _RETRY_LONGEST_S).with_timeout(timeout_s)
        return {"timeout": timeout_s, "retry": retry}

    def _object(self, name: str) -> str:
        return self._directory.object_name(name)

    def _no_bucket(self) -> StoreError:
        return StoreError(
            f"The bucket gs://{self._directory.bucket} does not exist. Create it, or correct "
            "remote.commit.log.relocation.dir."
        )

    def _store_error(self, error: Exception, file_name: str, rights: str) -> StoreError:
        from google.api_core import exceptions as answers
        from google.auth import exceptions as credentials
        from google.cloud.storage.exceptions import DataCorruption

        key_file = self._settings.key_file
        key = "the default credentials" if key_file is None else f"the key {key_file}"
        for cause in _causes(error):
            match cause:
                case DataCorruption():
                    return StoreError(upload_mismatch(file_name, self.address))
                case (
                    credentials.RefreshError()
                    | credentials.InvalidOperation()
                    | answers.Unauthorized()
                ):
                    return StoreError(
                        f"Google rejects {key}: {first_line(cause)}. Check "
                        "storage.credential.key.file."
                    )
                case credentials.DefaultCredentialsError():
                    return StoreError(
                        f"No credentials for Google Cloud Storage: {first_line(cause)}. "
                        "Set storage.credential.key.file, or GOOGLE_APPLICATION_CREDENTIALS."
                    )
                case answers.Forbidden():
                    return StoreError(
                        f"Google Cloud Storage denies {key} access to {self.address}: "
                        f"{first_line(cause)}. Grant {rights} in gs://{self._directory.bucket}.",
                        is_forbidden=True,
                    )
                case answers.NotFound():
                    return self._no_bucket()
        return StoreError(f"Google Cloud Storage failed for {file_name}: {first_line(error)}.")

    def _put(self, file: Path, size_bytes: int, crc32c: str) -> bool:
        from google.api_core.exceptions import PreconditionFailed

        bucket, name, options = (
            self._open_bucket(),
            self._object(file.name),
            self._request_options(),
        )

        def is_there() -> bool:
            found = bucket.get_blob(name, **options)
            if found is None:
                return False
            if (found.size, found.crc32c) == (size_bytes, crc32c):
                return True
            raise StoreError(
                f"{self.address} has a different {file.name} ({found.size} bytes, CRC32C "
                f"{found.crc32c}; local: {size_bytes}, {crc32c}). The agent does not overwrite it. "
                "Move one of them away.",
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
                    **options,
                )
            except PreconditionFailed:
                # Created in the meantime, or the response to our previous request was lost.
                if is_there():
                    return False
                raise
        # The client checks only resumable uploads.
        if (blob.size, blob.crc32c) != (size_bytes, crc32c):
            raise StoreError(upload_mismatch(file.name, self.address))
        return True

    def _open_bucket(self) -> Any:
        from google.cloud import storage

        if self._bucket is None:
            key_file = self._settings.key_file
            if key_file is None:
                client = storage.Client(project=None)
            else:
                try:
                    client = storage.Client.from_service_account_json(str(key_file))
                except OSError as error:
                    # An OSError with a file name would look like an error of the segment's file.
                    raise StoreError(
                        f"storage.credential.key.file: {key_file} cannot be read: "
                        f"{error.strerror or error}."
                    ) from error
            bound_responses(client._http)
            # The separate session for tokens: OAuth, and the metadata server.
            bound_responses(client._http._auth_request.session)
            self._bucket = client.bucket(self._directory.bucket)
        return self._bucket


def _causes(error: BaseException | None) -> list[BaseException]:
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found


def _size_and_checksum(file: Path) -> tuple[int, str]:
    """Return size, and CRC32C in Google's format. Raises OSError."""
    import google_crc32c

    checksum = size_bytes = 0
    with os.fdopen(open_regular(file, os.O_RDONLY), "rb") as stream:
        while block := stream.read(READ_BYTES):
            checksum = google_crc32c.extend(checksum, block)
            size_bytes += len(block)
    return size_bytes, base64.b64encode(checksum.to_bytes(4)).decode()


def _require_key(file: Path) -> None:
    try:
        document = bounded_json(read_regular(file.resolve(), _MAX_KEY_BYTES), _MAX_KEY_BYTES)
    except OSError as error:
        raise ConfigError(
            f"storage.credential.key.file: {file} cannot be read: {error.strerror}."
        ) from error
    except ValueError as error:
        raise ConfigError(f"storage.credential.key.file: {file} is not valid JSON.") from error
    if not isinstance(document, dict) or document.get("type") != "service_account":
        raise ConfigError(
            f"storage.credential.key.file: {file} is not a service account key "
            '("type": "service_account").'
        )

"""Google Cloud Storage as the store of finished segments.

Objects are named `<prefix>/<node id>/archive/CommitLog-7-1699.log`: segments of two nodes can have
the same name. Segments of more than 8 MiB go by a resumable upload, in chunks: after a lost
connection or an answer of 5xx the client goes on at the chunk.
An object is made on the condition that there is none of its name (generation 0), so nobody's is
ever overwritten. What is there already with the same checksum counts as sent.

The client is imported by an agent that sends segments, at its start: it
takes a second of a processor and thirty megabytes.
"""

import base64
import importlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from agent.transfer.remote import RemoteDirectory
from agent.transfer.uploads import UploadError, UploadStoppedError
from sidecar.errors import ConfigError

_CHUNK_UNIT_BYTES = 256 << 10
_READ_BYTES = 1 << 20
_RETRY_FIRST_S, _RETRY_LONGEST_S = 0.5, 8.0


@dataclass(frozen=True, slots=True)
class GcsSettings:
    """Where to, as whom, and how patiently."""

    directory: RemoteDirectory
    key_file: Path | None = None
    """Of a service account; None: Application Default Credentials."""
    chunk_bytes: int = 8 << 20
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

    def open(self) -> None:
        importlib.import_module("google.cloud.storage")

    def ask(self) -> None:
        """Whether an object could be looked at. Raises UploadError."""
        from google.cloud.storage.retry import DEFAULT_RETRY

        timeout_s = self._settings.timeout_s
        retry = DEFAULT_RETRY.with_timeout(timeout_s)
        try:
            bucket = self._opened_bucket()
            bucket.get_blob(self._settings.directory.prefix or "-", timeout=timeout_s, retry=retry)
        except Exception as error:
            raise self._explained(error, "requests") from error

    def put(self, file: Path, is_stopped: Callable[[], bool]) -> bool:
        size_bytes, crc32c = _size_and_checksum(file)
        name = "/".join(part for part in (self._settings.directory.prefix, file.name) if part)
        try:
            return self._put(file, name, size_bytes, crc32c, is_stopped)
        except (UploadError, UploadStoppedError, OSError) as error:
            # requests' errors of connections are OSErrors; those of the file have its name.
            if isinstance(error, OSError) and error.filename is None:
                raise self._explained(error, file.name) from error
            raise
        except Exception as error:
            raise self._explained(error, file.name) from error

    def _put(
        self,
        file: Path,
        name: str,
        size_bytes: int,
        crc32c: str,
        is_stopped: Callable[[], bool],
    ) -> bool:
        from google.api_core.exceptions import PreconditionFailed
        from google.cloud.storage.retry import DEFAULT_RETRY

        if self._bucket is None:
            self._bucket = self._opened_bucket()
        bucket, timeout_s = self._bucket, self._settings.timeout_s
        retry = DEFAULT_RETRY.with_delay(_RETRY_FIRST_S, _RETRY_LONGEST_S).with_timeout(timeout_s)

        def is_there() -> bool:
            found = bucket.get_blob(name, timeout=timeout_s, retry=retry)
            if found is None:
                return False
            if (found.size, found.crc32c) == (size_bytes, crc32c):
                return True
            raise UploadError(
                f"{self.where} has another {file.name} ({found.size} bytes, CRC32C "
                f"{found.crc32c}; ours: {size_bytes}, {crc32c}), which is not overwritten: see "
                "whose it is, and move it or ours away.",
                of_segment=True,
            )

        if is_there():
            return False
        units = max(1, self._settings.chunk_bytes // _CHUNK_UNIT_BYTES)
        blob = bucket.blob(name, chunk_size=units * _CHUNK_UNIT_BYTES)
        with file.open("rb") as stream:
            try:
                blob.upload_from_file(
                    _Stoppable(stream, is_stopped),
                    size=size_bytes,
                    content_type="application/octet-stream",
                    if_generation_match=0,
                    checksum="crc32c",
                    timeout=timeout_s,
                    retry=retry,
                )
            except PreconditionFailed:
                # It came there meanwhile, or the answer to our own last request was lost.
                if is_there():
                    return False
                raise
        if (blob.size, blob.crc32c) != (size_bytes, crc32c):
            raise UploadError(_not_what_was_sent(file.name, self.where))
        return True

    def _opened_bucket(self) -> Any:
        from google.cloud import storage

        key_file = self._settings.key_file
        if key_file is None:
            client = storage.Client(project=None)
        else:
            client = storage.Client.from_service_account_json(str(key_file))
        return client.bucket(self._settings.directory.bucket)

    def _explained(self, error: BaseException, file_name: str) -> UploadError:
        """The sentence for what the client raised."""
        from google.api_core import exceptions as answers
        from google.auth import exceptions as credentials
        from google.cloud.storage.exceptions import DataCorruption

        key_file = self._settings.key_file
        key = f"the key {key_file}" if key_file is not None else "the default credentials"
        bucket = f"gs://{self._settings.directory.bucket}"
        for cause in _causes(error):
            match cause:
                case DataCorruption():
                    return UploadError(_not_what_was_sent(file_name, self.where))
                case (
                    credentials.RefreshError()
                    | credentials.InvalidOperation()
                    | answers.Unauthorized()
                ):
                    return UploadError(
                        f"Google refuses {key}: {_first_line(cause)}. Check "
                        "storage.credential.key.file."
                    )
                case credentials.DefaultCredentialsError():
                    return UploadError(
                        f"There are no credentials for Google Cloud Storage: {_first_line(cause)}. "
                        "Set storage.credential.key.file, or GOOGLE_APPLICATION_CREDENTIALS."
                    )
                case answers.Forbidden():
                    return UploadError(
                        f"Google Cloud Storage does not let {key} write to {bucket}: "
                        f"{_first_line(cause)}. It needs the rights storage.objects.create and "
                        "storage.objects.get there."
                    )
                case answers.NotFound():
                    return UploadError(
                        f"There is no bucket {bucket}: make it, or correct "
                        "remote.commit.log.relocation.dir."
                    )
        return UploadError(f"Google Cloud Storage does not take {file_name}: {_first_line(error)}.")


class _Stoppable:
    """A file that ends an upload between two chunks when the agent stops."""

    def __init__(self, stream: IO[bytes], is_stopped: Callable[[], bool]) -> None:
        self._stream = stream
        self._is_stopped = is_stopped

    def read(self, size: int = -1) -> bytes:
        if self._is_stopped():
            raise UploadStoppedError
        return self._stream.read(size)

    def tell(self) -> int:
        return self._stream.tell()

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._stream.seek(offset, whence)


def _size_and_checksum(file: Path) -> tuple[int, str]:
    """Bytes, and their CRC32C as Google writes it. Raises OSError."""
    import google_crc32c

    checksum = size_bytes = 0
    with file.open("rb") as stream:
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


def _not_what_was_sent(file_name: str, where: str) -> str:
    return (
        f"What {where} has of {file_name} is not what was sent, by its checksum; it is sent again."
    )


def _causes(error: BaseException | None) -> list[BaseException]:
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    text = lines[0] if lines else type(error).__name__
    return text.rstrip(".: ")

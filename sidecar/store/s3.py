"""Amazon S3, and compatible servers, as a store of files.

A file up to one chunk takes one request; a larger file is a multipart upload, which makes the
object visible only with its last request. The server compares the MD5 of each request's body.
Uploads require that the object does not exist, so they never overwrite an object. The SHA-256 of
the file is in the object's metadata: an object with the same size and SHA-256 counts as sent.

The client is imported on the first request, because it takes half a second of CPU time and 30 MB.
"""

import base64
import hashlib
import os
import re
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sidecar.files.regular import open_new, open_regular
from sidecar.process.extras import require_extra
from sidecar.store.base import (
    RemoteDirectory,
    StoreError,
    StoreSettings,
    download_mismatch,
    upload_mismatch,
)
from sidecar.store.bounded_responses import BoundedFile, bound_bodies
from sidecar.store.object_store import READ_BYTES, ObjectStore
from sidecar.store.s3_errors import (
    DELETE,
    EXISTS,
    GET,
    LIST,
    PUT,
    S3Context,
    error_code,
    is_missing,
    to_s3_error,
)

_CONNECT_S = 10.0
_ATTEMPTS = 4
_DEFAULT_REGION = "us-east-1"
_SMALLEST_PART_BYTES = 5 << 20
_MOST_PARTS = 10_000
# Without the right to list, S3 returns 403 instead of 404 for a missing object.
_TO_SEND = (PUT, GET, LIST)
_CHECK_NAME = ".cdc-sidecar-check"
_SHA256 = "sha256"
# For a multipart upload: the MD5 of all MD5s, and the number of parts.
_MD5 = re.compile(r"[0-9a-f]{32}(-[0-9]+)?")


@dataclass(frozen=True, slots=True)
class FileChecksums:
    """Size and checksums of a file, in hexadecimal digits."""

    size_bytes: int
    sha256: str
    md5: str


def read_checksums(file: Path) -> FileChecksums:
    """Compute the checksums of a file. Raises OSError."""
    sha256, md5 = hashlib.sha256(), hashlib.md5(usedforsecurity=False)
    size_bytes = 0
    with os.fdopen(open_regular(file, os.O_RDONLY), "rb") as stream:
        while block := stream.read(READ_BYTES):
            sha256.update(block)
            md5.update(block)
            size_bytes += len(block)
    return FileChecksums(size_bytes, sha256.hexdigest(), md5.hexdigest())


def md5_of(content: bytes) -> str:
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def encoded(hexadecimal: str) -> str:
    """Encode a checksum in base64, for the header `Content-MD5`."""
    return base64.b64encode(bytes.fromhex(hexadecimal)).decode()


class S3Store(ObjectStore[tuple[str, ...]]):
    """A directory in a bucket. Raises ConfigError for a missing package."""

    list_rights = (LIST,)
    get_rights = (GET,)

    def __init__(self, directory: RemoteDirectory, settings: StoreSettings) -> None:
        require_extra("s3", "S3 (`s3://…`)")
        super().__init__(directory)
        self._settings = settings
        self._client: Any = None

    def missing_rights(self) -> list[str]:
        """Return the missing rights without creating an object. The right to delete is not checked,
        because a check would create a delete marker in a versioned bucket. Raises StoreError."""
        key = {"Bucket": self._directory.bucket, "Key": self._directory.object_name(_CHECK_NAME)}
        missing: list[str] = []
        with self._translate_errors("requests", _TO_SEND):
            client = self._open_client()
            prefix = {"Bucket": key["Bucket"], "Prefix": self._directory.object_name("")}
            if not self._is_allowed(lambda: client.list_objects_v2(**prefix, MaxKeys=1)):
                missing.append(LIST)
            if not self._is_allowed(lambda: client.head_object(**key)):
                missing.append(GET)
            # An upload that is never completed creates nothing.
            begun: list[str] = []
            if self._is_allowed(lambda: begun.append(self._begin(client, key, ""))):
                for upload in begun:
                    client.abort_multipart_upload(**key, UploadId=upload)
            else:
                missing.append(PUT)
        return [right for right in (PUT, GET, LIST) if right in missing]

    def put(self, file: Path) -> bool:
        sums = read_checksums(file)
        with self._translate_errors(file.name, _TO_SEND):
            return self._put(file, sums)

    def remove(self, name: str) -> None:
        with self._translate_errors(name, (DELETE,)):
            # Deleting a missing object succeeds.
            self._open_client().delete_object(**self._key(name))

    def _key(self, name: str) -> dict[str, str]:
        return {"Bucket": self._directory.bucket, "Key": self._directory.object_name(name)}

    def _list_objects(self, prefix: str) -> Iterator[str]:
        asked = {"Bucket": self._directory.bucket, "Prefix": prefix, "Delimiter": "/"}
        for page in self._open_client().get_paginator("list_objects_v2").paginate(**asked):
            for each in page.get("Contents", ()):
                yield str(each["Key"])

    def _is_allowed(self, request: Callable[[], object]) -> bool:
        """Return False if the server denies the request. A missing object is not a denial."""
        from botocore.exceptions import ClientError

        try:
            request()
        except ClientError as error:
            if is_missing(error):
                return True
            if not to_s3_error(error, "requests", self._context, _TO_SEND).is_forbidden:
                raise
            return False
        return True

    def _head(self, name: str) -> dict[str, Any] | None:
        """Return the metadata of an object, or None if it does not exist. Raises the server's error
        for a missing bucket."""
        from botocore.exceptions import ClientError

        try:
            found: dict[str, Any] = self._open_client().head_object(**self._key(name))
        except ClientError as error:
            self._explain(name, is_object_missing=is_missing(error))
            if not is_missing(error):
                raise
            return None
        return found

    def _explain(self, name: str, *, is_object_missing: bool) -> None:
        """Raise an error with the server's reason. A response to HEAD contains none, neither for a
        denied request nor for a missing bucket."""
        from botocore.exceptions import ClientError

        key = self._key(name)
        try:
            self._open_client().list_objects_v2(Bucket=key["Bucket"], Prefix=key["Key"], MaxKeys=1)
        except ClientError as error:
            if not is_object_missing or error_code(error) == "NoSuchBucket":
                raise

    def _has_same(self, file: Path, sums: FileChecksums) -> bool:
        """Whether the object exists. Raises StoreError if its content differs."""
        found = self._head(file.name)
        if found is None:
            return False
        stored = str(found.get("Metadata", {}).get(_SHA256, ""))
        is_same = stored == sums.sha256 if stored else _etag(found) == sums.md5
        if found["ContentLength"] == sums.size_bytes and is_same:
            return True
        raise StoreError(
            f"{self.address} has a different {file.name} ({found['ContentLength']} bytes; local: "
            f"{sums.size_bytes}, SHA-256 {sums.sha256}). The agent does not overwrite it. Move one "
            "of them away.",
            is_segment_specific=True,
        )

    def _put(self, file: Path, sums: FileChecksums) -> bool:
        from botocore.exceptions import ClientError

        if self._has_same(file, sums):
            return False
        part_bytes = max(
            self._settings.chunk_bytes, _SMALLEST_PART_BYTES, -(-sums.size_bytes // _MOST_PARTS)
        )
        try:
            if sums.size_bytes <= part_bytes:
                self._put_at_once(file, sums)
            else:
                self._put_in_parts(file, sums, part_bytes)
        except ClientError as error:
            # Created in the meantime, or the response to our previous request was lost.
            if error_code(error) not in EXISTS or not self._has_same(file, sums):
                raise
            return False
        return True

    def _put_at_once(self, file: Path, sums: FileChecksums) -> None:
        with os.fdopen(open_regular(file, os.O_RDONLY), "rb") as stream:
            content = stream.read(sums.size_bytes + 1)
        answer = self._open_client().put_object(
            **self._key(file.name),
            **self._attributes(sums.sha256),
            **self._condition(),
            Body=content,
            ContentMD5=encoded(sums.md5),
        )
        self._compare(file, sums, _etag(answer), sums.md5)

    def _put_in_parts(self, file: Path, sums: FileChecksums, part_bytes: int) -> None:
        client, key = self._open_client(), self._key(file.name)
        self._abort_earlier(client, key)
        upload = self._begin(client, key, sums.sha256)
        try:
            parts: list[dict[str, Any]] = []
            digests = b""
            with os.fdopen(open_regular(file, os.O_RDONLY), "rb") as stream:
                while content := stream.read(part_bytes):
                    md5 = md5_of(content)
                    digests += bytes.fromhex(md5)
                    sent = client.upload_part(
                        **key,
                        UploadId=upload,
                        PartNumber=len(parts) + 1,
                        Body=content,
                        ContentMD5=encoded(md5),
                    )
                    parts.append({"PartNumber": len(parts) + 1, "ETag": sent["ETag"]})
            answer = client.complete_multipart_upload(
                **key, **self._condition(), UploadId=upload, MultipartUpload={"Parts": parts}
            )
        except BaseException:
            with suppress(Exception):
                client.abort_multipart_upload(**key, UploadId=upload)
            raise
        self._compare(file, sums, _etag(answer), f"{md5_of(digests)}-{len(parts)}")

    def _begin(self, client: Any, key: dict[str, str], sha256: str) -> str:
        return str(client.create_multipart_upload(**key, **self._attributes(sha256))["UploadId"])

    def _abort_earlier(self, client: Any, key: dict[str, str]) -> None:
        """Free the parts that a killed process has sent. Only this node writes the object."""
        with suppress(Exception):
            found = client.list_multipart_uploads(Bucket=key["Bucket"], Prefix=key["Key"])
            for each in found.get("Uploads", ()):
                if each["Key"] == key["Key"]:
                    client.abort_multipart_upload(**key, UploadId=each["UploadId"])

    def _attributes(self, sha256: str) -> dict[str, Any]:
        options = self._settings.s3
        chosen: dict[str, Any] = {
            "ServerSideEncryption": options.encryption,
            "SSEKMSKeyId": options.kms_key_id,
            "StorageClass": options.storage_class,
        }
        return {
            **{name: value for name, value in chosen.items() if value is not None},
            "ContentType": "application/octet-stream",
            "Metadata": {_SHA256: sha256} if sha256 else {},
        }

    def _condition(self) -> dict[str, str]:
        return {"IfNoneMatch": "*"} if self._settings.s3.conditional_writes else {}

    def _compare(self, file: Path, sums: FileChecksums, etag: str, expected: str) -> None:
        """Raise StoreError if the object differs from the file. With KMS, the ETag is no MD5."""
        found = self._head(file.name)
        is_same = found is not None and (
            found["ContentLength"] == sums.size_bytes
            and found.get("Metadata", {}).get(_SHA256) == sums.sha256
        )
        has_md5 = (found or {}).get("ServerSideEncryption", "AES256") == "AES256"
        if not is_same or (has_md5 and _MD5.fullmatch(etag) and etag != expected):
            raise StoreError(upload_mismatch(file.name, self.address))

    def _download(self, name: str, temporary: Path) -> bool:
        with self._translate_errors(name, self.get_rights):
            there = self._head(name)
            if there is None:
                return False
            size_bytes = there["ContentLength"]
            self._require_segment_size(name, size_bytes)
            answer = self._open_client().get_object(**self._key(name), IfMatch=there["ETag"])
            body = answer["Body"]
            with os.fdopen(open_new(temporary), "wb") as stream, closing(body):
                into = BoundedFile(stream, size_bytes)
                for block in body.iter_chunks(READ_BYTES):
                    into.write(block)
        sums = read_checksums(temporary)
        stored = str(there.get("Metadata", {}).get(_SHA256, ""))
        if sums.size_bytes != size_bytes or (stored and stored != sums.sha256):
            raise StoreError(download_mismatch(name, self.address))
        return True

    @property
    def _context(self) -> S3Context:
        region = "" if self._client is None else str(self._client.meta.region_name)
        return S3Context(self._directory, self._settings.s3, region)

    def _store_error(self, error: Exception, file_name: str, rights: tuple[str, ...]) -> StoreError:
        found = to_s3_error(error, file_name, self._context, rights)
        # The next request reads credentials and settings of the environment again.
        self._client = None
        return found

    def _open_client(self) -> Any:
        if self._client is None:
            self._client = _create_client(self._settings)
        return self._client


def _etag(answer: dict[str, Any]) -> str:
    return str(answer["ETag"]).strip('"').lower()


def _create_client(settings: StoreSettings) -> Any:
    """Create a client. Only its first request looks for credentials. Raises the client's errors."""
    from botocore.config import Config
    from botocore.session import Session

    options, timeout_s = settings.s3, settings.timeout_s
    is_path_style = options.path_style
    style = "auto" if is_path_style is None else "path" if is_path_style else "virtual"
    session = Session()
    region = options.region or session.get_config_variable("region") or _DEFAULT_REGION
    client = session.create_client(
        "s3",
        region_name=region,
        endpoint_url=options.endpoint,
        config=Config(
            connect_timeout=min(_CONNECT_S, timeout_s),
            read_timeout=timeout_s,
            retries={"mode": "standard", "total_max_attempts": _ATTEMPTS},
            s3={"addressing_style": style},
            # Many servers do not support checksums at the end of a request.
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
            user_agent_extra="cdc-sidecar",
        ),
    )
    bound_bodies(client)
    return client

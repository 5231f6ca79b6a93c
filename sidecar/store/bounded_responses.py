"""Limits a store's responses, so that an endless response exhausts neither memory nor disk."""

from collections.abc import Iterable
from typing import Any, BinaryIO

from sidecar.bounded_json import value_bound
from sidecar.store.base import StoreError

MAX_RESPONSE_BYTES = 4 << 20
"""Google's longest listing page has 1,000 objects in less than 3 MiB."""
_MAX_VALUES = 200_000
MAX_NAMES = 100_000
_READ_BYTES = 64 << 10


def bound_responses(session: Any) -> None:
    """Makes a session of `requests` raise StoreError for a response of more than
    `MAX_RESPONSE_BYTES`, unless the caller streams it."""
    session.hooks["response"].append(_read)


def _read(response: Any, **options: Any) -> None:
    if options.get("stream"):
        return
    remedy = "Google's responses are smaller. Check STORAGE_EMULATOR_HOST and proxies"
    try:
        content = _bounded(response.iter_content(_READ_BYTES), remedy)
    except StoreError:
        response.close()
        raise
    # `requests` caches the content here itself; there is no public way to set it.
    response._content = content


def _bounded(blocks: Iterable[bytes], remedy: str) -> bytes:
    """Read a response within limits, which also bound its memory when parsed as JSON or XML."""
    content = bytearray()
    for block in blocks:
        content += block
        if len(content) > MAX_RESPONSE_BYTES:
            limit = f"{MAX_RESPONSE_BYTES >> 20} MiB"
            raise StoreError(f"The store's response exceeds {limit}; {remedy}.")
    if value_bound(content) > _MAX_VALUES:
        raise StoreError(f"The store's response exceeds {_MAX_VALUES} values; {remedy}.")
    return bytes(content)


class BoundedFile:
    """A file that accepts a limited number of bytes; more bytes raise StoreError."""

    def __init__(self, file: BinaryIO, max_bytes: int) -> None:
        self._file = file
        self._left_bytes = max_bytes

    def write(self, content: bytes) -> int:
        self._left_bytes -= len(content)
        if self._left_bytes < 0:
            raise StoreError("The store sends more bytes than the size of the object.")
        return self._file.write(content)


def bound_bodies(client: Any) -> None:
    """Makes a client of `botocore` raise StoreError for a response of more than
    `MAX_RESPONSE_BYTES`, unless it streams the response."""
    from botocore.exceptions import HTTPClientError

    # There is no public way, because the client reads the whole body before any of its events.
    session = client._endpoint.http_session
    send = session.send

    def bounded(request: Any) -> Any:
        is_streamed, request.stream_output = request.stream_output, True
        response = send(request)
        if is_streamed and response.status_code < 300:
            return response
        remedy = "S3's responses are smaller. Check storage.s3.endpoint and proxies"
        try:
            response._content = _bounded(response.raw.stream(_READ_BYTES), remedy)
        except StoreError:
            response.raw.close()
            raise
        except Exception as error:
            raise HTTPClientError(error=error) from error
        return response

    session.send = bounded

"""Checksums of S3's protocol: MD5 of each request's body, and SHA-256 of the file."""

import base64
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from sidecar.files.regular import open_regular

_READ_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class FileChecksums:
    """Size and checksums of a file, in hexadecimal digits."""

    size_bytes: int
    sha256: str
    md5: str


def read_checksums(file: Path) -> FileChecksums:
    """Reads the file. Raises OSError."""
    sha256, md5 = hashlib.sha256(), hashlib.md5(usedforsecurity=False)
    size_bytes = 0
    with os.fdopen(open_regular(file, os.O_RDONLY), "rb") as stream:
        while block := stream.read(_READ_BYTES):
            sha256.update(block)
            md5.update(block)
            size_bytes += len(block)
    return FileChecksums(size_bytes, sha256.hexdigest(), md5.hexdigest())


def md5_of(content: bytes) -> str:
    """In hexadecimal digits."""
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def encoded(hexadecimal: str) -> str:
    """In base64, as the header `Content-MD5` has it."""
    return base64.b64encode(bytes.fromhex(hexadecimal)).decode()

"""Amazon's client with the agent's limits, and the checksums of its protocol.

S3 compares the MD5 of each request's body, the agent the SHA-256 of the file.
"""

import base64
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sidecar.files.regular import open_regular
from sidecar.store.base import StoreSettings
from sidecar.store.bounded_responses import bound_bodies

_CONNECT_S = 10.0
_ATTEMPTS = 4
_DEFAULT_REGION = "us-east-1"


def create_client(settings: StoreSettings) -> Any:
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


_READ_BYTES = 1 << 20


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
        while block := stream.read(_READ_BYTES):
            sha256.update(block)
            md5.update(block)
            size_bytes += len(block)
    return FileChecksums(size_bytes, sha256.hexdigest(), md5.hexdigest())


def md5_of(content: bytes) -> str:
    """Return the MD5 in hexadecimal digits."""
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def encoded(hexadecimal: str) -> str:
    """Encode a checksum in base64, for the header `Content-MD5`."""
    return base64.b64encode(bytes.fromhex(hexadecimal)).decode()

"""Resolves references to oversized events: `event.oversized=claim-check`.

    for message in messages:
        value = resolve(message.value(), message.headers() or [])

`fetch` reads `file://` URLs. Pass a function of yours for another store, such as

    def from_s3(url: str, max_bytes: int) -> bytes:
        parts = urlsplit(url)
        s3 = boto3.client("s3")
        found = s3.get_object(Bucket=parts.netloc, Key=parts.path.lstrip("/"))
        return found["Body"].read(max_bytes)
"""

import hashlib
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

Fetch = Callable[[str, int], bytes]
"""The object at a URL, at most so many bytes of it."""


class ClaimError(Exception):
    """The object differs from the one that the agent stored."""


def from_directory(url: str, max_bytes: int) -> bytes:
    """Reads an object of a `file://` store. Raises OSError."""
    parts = urlsplit(url)
    if parts.scheme != "file":
        raise ValueError(f"{url}: pass a function that reads {parts.scheme}:// URLs as `fetch`")
    with Path(parts.path).open("rb") as file:
        return file.read(max_bytes)


def resolve(
    value: bytes | None, headers: Iterable[tuple[str, bytes]], fetch: Fetch = from_directory
) -> dict[str, Any] | None:
    """The whole value of an event, also of one that is no reference; None for a tombstone.

    Raises ClaimError, and what `fetch` raises.
    """
    if value is None:
        return None
    envelope: dict[str, Any] = json.loads(value)
    found = dict(headers)
    if "cdc.claim.check" not in found:
        return envelope
    url = found["cdc.claim.check"].decode()
    size_bytes = int(found["cdc.claim.size"])
    content = fetch(url, size_bytes + 1)
    if len(content) != size_bytes:
        raise ClaimError(f"{url}: at least {len(content)} bytes instead of {size_bytes}")
    checksum = hashlib.sha256(content).hexdigest()
    if checksum != found["cdc.claim.sha256"].decode():
        raise ClaimError(f"{url}: the SHA-256 is {checksum}, not that of the header")
    members: dict[str, Any] = json.loads(content)
    # They keep their positions in the envelope.
    return envelope | members

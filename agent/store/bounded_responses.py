"""Bounds the JSON responses of a store, so that an endless one cannot exhaust the memory."""

from typing import Any

from agent.store.base import StoreError

MAX_RESPONSE_BYTES = 16 << 20
"""Google's longest listing page has 1,000 objects in less than 3 MiB."""
MAX_NAMES = 1_000_000
_READ_BYTES = 64 << 10


def bound_responses(session: Any) -> None:
    """Makes a session of `requests` raise StoreError for a response of more than
    `MAX_RESPONSE_BYTES`, unless the caller streams it."""
    session.hooks["response"].append(_read)


def _read(response: Any, **options: Any) -> None:
    if options.get("stream"):
        return
    content = bytearray()
    for block in response.iter_content(_READ_BYTES):
        content += block
        if len(content) > MAX_RESPONSE_BYTES:
            response.close()
            raise StoreError(
                f"The store's response exceeds {MAX_RESPONSE_BYTES >> 20} MiB; responses of Google "
                "Cloud Storage are smaller. Check STORAGE_EMULATOR_HOST and proxies."
            )
    # `requests` caches the content here itself; there is no public way to set it.
    response._content = bytes(content)

"""Answers of a store in JSON, bounded: a store that sends one without end exhausts no memory."""

from typing import Any

from agent.store.base import StoreError

MAX_ANSWER_BYTES = 16 << 20
"""Google's longest page of a listing names 1,000 objects in less than 3 MiB."""
MAX_NAMES = 1_000_000
_READ_BYTES = 64 << 10


def bound_answers(session: Any) -> None:
    """Makes a session of `requests` read at most `MAX_ANSWER_BYTES` of an answer that its caller
    does not read itself as a stream. A longer one raises StoreError."""
    session.hooks["response"].append(_read)


def _read(response: Any, **options: Any) -> None:
    if options.get("stream"):
        return
    content = bytearray()
    for block in response.iter_content(_READ_BYTES):
        content += block
        if len(content) > MAX_ANSWER_BYTES:
            response.close()
            raise StoreError(
                f"The store's answer has more than {MAX_ANSWER_BYTES >> 20} MiB, which no answer "
                "of Google's has: is STORAGE_EMULATOR_HOST, or a proxy, what it should be?"
            )
    # As `requests` itself keeps what it has read; it has no other way to hand it over.
    response._content = bytes(content)

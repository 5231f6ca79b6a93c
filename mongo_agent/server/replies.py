"""Replies that the driver cannot decode, as errors of the driver."""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from pymongo.errors import ProtocolError, PyMongoError


@contextmanager
def decoded_replies() -> Iterator[None]:
    """Raise `ProtocolError`, a `PyMongoError`, for a reply that cannot be decoded.

    For such a reply the driver closes the connection, but raises the errors of its decoders (BSON,
    zlib, zstd, Snappy, `struct`) as they are.
    """
    try:
        yield
    except Exception as error:
        _release_replies(error)
        if isinstance(error, PyMongoError):
            raise
        kind = type(error).__name__
        raise ProtocolError(f"a reply cannot be decoded ({kind}: {error})") from error


def _release_replies(error: BaseException | None) -> None:
    """Clear the frames of an error. A frame of the driver refers to its own error, and so keeps a
    reply of up to 48 MB until a search for cycles, which is rare (`tune_interpreter`)."""
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__context__

"""Replies that the driver cannot decode, as errors of the driver."""

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
    except PyMongoError:
        raise
    except Exception as error:
        kind = type(error).__name__
        raise ProtocolError(f"a reply cannot be decoded ({kind}: {error})") from error

"""Undecodable replies are driver errors and do not leak memory."""

import gc
import weakref
from collections.abc import Callable

import pytest
from pymongo.errors import AutoReconnect, ProtocolError, PyMongoError

from mongo_agent.server.commands import decode_replies


class Reply:
    """Unlike bytes, this type supports weak references."""


def failing(error: Exception) -> Callable[[], list[weakref.ref[Reply]]]:
    """A read whose frame references its own error, like the driver's frames."""
    replies: list[weakref.ref[Reply]] = []

    def read() -> list[weakref.ref[Reply]]:
        reply = Reply()
        replies.append(weakref.ref(reply))
        try:
            raise error
        except Exception as raised:
            own = raised
            assert own
            raise AutoReconnect("closed") from raised

    def run() -> list[weakref.ref[Reply]]:
        with pytest.raises(PyMongoError), decode_replies():
            read()
        return replies

    return run


@pytest.mark.parametrize("error", [ProtocolError("too long"), OSError("timed out")])
def test_failed_read_releases_reply(error: Exception) -> None:
    gc.disable()
    try:
        (reply,) = failing(error)()
        assert reply() is None
    finally:
        gc.enable()


def test_decoder_error_reports_exception_type() -> None:
    message = r"cannot be decoded \(ValueError: no length\)"
    with pytest.raises(ProtocolError, match=message), decode_replies():
        raise ValueError("no length")

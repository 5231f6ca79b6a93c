"""`GET /history` returns the last 24 hours as JSON."""

import threading
import time
from collections.abc import Callable, Mapping

import orjson
from flask import Blueprint, Response

_KEPT_S = 1.0
"""Maximum age of the cached text, which is slow to build."""


def history_pages(
    document: Callable[[], Mapping[str, object]], clock: Callable[[], float] = time.monotonic
) -> Blueprint:
    """`document` is called on the server's threads and must not wait. `clock` returns seconds."""
    pages = Blueprint("history", __name__)
    lock = threading.Lock()
    text, made_s = b"", -_KEPT_S

    @pages.get("/history")
    def history() -> Response:
        nonlocal text, made_s
        with lock:
            if clock() - made_s >= _KEPT_S or not text:
                text, made_s = orjson.dumps(document()) + b"\n", clock()
        return Response(text, mimetype="application/json")

    return pages

"""`GET /history` returns the last 24 hours as JSON."""

from collections.abc import Callable, Mapping

import orjson
from flask import Blueprint, Response


def history_pages(document: Callable[[], Mapping[str, object]]) -> Blueprint:
    """`document` is called on the server's threads and must not wait."""
    pages = Blueprint("history", __name__)

    @pages.get("/history")
    def history() -> Response:
        return Response(orjson.dumps(document()) + b"\n", mimetype="application/json")

    return pages

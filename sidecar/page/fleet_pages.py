"""`GET /fleet` shows all configured agents, `GET /fleet.json` its values. Both only read."""

from collections.abc import Callable, Mapping

import orjson
from flask import Blueprint, Response

from sidecar.page.pages import PAGE_HEADERS, page_text, security_policy

_PAGE = "fleet.html"


def fleet_pages(document: Callable[[], Mapping[str, object]]) -> Blueprint:
    """`document` is called on the server's threads and must not wait."""
    pages = Blueprint("fleet", __name__)

    @pages.get("/fleet")
    def page() -> Response:
        text = page_text(_PAGE)
        headers = {**PAGE_HEADERS, "Content-Security-Policy": security_policy(text)}
        return Response(text, mimetype="text/html", headers=headers)

    @pages.get("/fleet.json")
    def values() -> Response:
        content = orjson.dumps(document())
        return Response(content, mimetype="application/json", headers=PAGE_HEADERS)

    return pages

"""`GET /` returns the status page, `GET /page.json` its values, and `GET /configuration` the
configuration without secrets. All are read-only.

The texts of conditions come from `agent.status` and `mongo_agent.status`. `page.html`, `page.css`
and the scripts are sent as one document. Its Content-Security-Policy allows only its own script
and style, by their hashes, and requests to its own origin, so nothing else runs in it.
"""

import base64
import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cache
from importlib import resources

import orjson
from flask import Blueprint, Response

from sidecar.health.condition import Health, condition_document
from sidecar.http.server import StatusSource
from sidecar.logs import RecentWarnings
from sidecar.page.summary import Summary
from sidecar.properties.show import EffectiveProperty

_PARTS = re.compile(r"/\* ([\w. ]+) \*/")
"""A placeholder for files to embed: `/* words.js page.js */`."""


def status_pages(
    status: StatusSource,
    summary: Callable[[Health], Summary],
    recent: RecentWarnings,
    properties: Sequence[EffectiveProperty],
) -> Blueprint:
    """`summary` is called on the server's threads and must not wait."""
    pages = Blueprint("status_page", __name__)

    @pages.get("/")
    def page() -> Response:
        text = page_text()
        headers = {"Content-Security-Policy": security_policy(text)}
        return Response(text, mimetype="text/html", headers=headers)

    @pages.get("/page.json")
    def shown() -> Response:
        # In JSON, values such as infinity become null.
        found, instance = status.health(), status.instance()
        values = {
            "service_name": instance.service,
            "version": instance.version,
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            **asdict(summary(found)),
            "status": found.state.value,
            "message": found.message,
            "conditions": [condition_document(each) for each in found.status.conditions],
            "components": [
                {"name": part.name, "status": part.state.value, "message": part.message}
                for part in found.components
            ],
            "warnings": [asdict(line) for line in recent.lines],
            **status.about(),
        }
        return Response(orjson.dumps(values), mimetype="application/json")

    @pages.get("/configuration")
    def configuration() -> Response:
        return Response(orjson.dumps(properties), mimetype="application/json")

    return pages


@cache
def page_text() -> str:
    """Return the page with its style and scripts embedded."""
    return _PARTS.sub(lambda found: "".join(map(_read, found[1].split())), _read("page.html"))


def _read(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


@cache
def security_policy(text: str) -> str:
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {_hashes('script', text)}",
            f"style-src {_hashes('style', text)}",
            "connect-src 'self'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    )


def _hashes(element: str, text: str) -> str:
    found = re.findall(rf"<{element}>(.*?)</{element}>", text, re.DOTALL)
    digests = (hashlib.sha256(content.encode()).digest() for content in found)
    return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)

"""Snapshots over HTTP, beside the other pages of the agent.

GET  /snapshot         how far the copy of each table is
POST /snapshot/start   {"table": "keyspace.table"}   copies a table from the beginning
POST /snapshot/stop    {"table": "keyspace.table"}   gives a copy up

Answers to POST are {"accepted", "sentence"}. Whoever reaches `http.host` and `http.port` can make
the agent copy, unless `http.token.file` demands a token. A body has to be `application/json`, which
pages of other sites cannot send from a browser without being asked first.
"""

import json
from collections.abc import Callable, Mapping

from flask import Blueprint, Response, request

from agent.snapshot.snapshot import Snapshot
from agent.snapshot.status import snapshot_document
from sidecar.errors import ConfigError, RefusedError, UnavailableError


def snapshot_pages(snapshot: Callable[[], Snapshot | None]) -> Blueprint:
    """`snapshot` gives what there is to copy with; None while the agent starts, and with
    `schema.file`."""
    pages = Blueprint("snapshot", __name__)

    @pages.get("/snapshot")
    def show() -> Response:
        found = snapshot()
        return _json({"tables": []} if found is None else snapshot_document(found), 200)

    @pages.post("/snapshot/start")
    def start() -> Response:
        return _answer(snapshot(), Snapshot.begin)

    @pages.post("/snapshot/stop")
    def stop() -> Response:
        return _answer(snapshot(), Snapshot.stop)

    return pages


def _answer(snapshot: Snapshot | None, act: Callable[[Snapshot, str], str]) -> Response:
    document = request.get_json(silent=True)
    table = document.get("table") if isinstance(document, dict) else None
    if not isinstance(table, str):
        status = 400 if request.is_json else 415
        return _sentence(False, 'The body has to be JSON: {"table": "keyspace.table"}.', status)
    if snapshot is None:
        return _sentence(False, "The agent starts, or has schema.file and asks no node.", 503)
    try:
        return _sentence(True, act(snapshot, table), 200)
    except ConfigError as error:
        return _sentence(False, str(error), 422)
    except (UnavailableError, RefusedError) as error:
        return _sentence(False, str(error), 503)


def _sentence(accepted: bool, sentence: str, status: int) -> Response:
    return _json({"accepted": accepted, "sentence": sentence}, status)


def _json(value: Mapping[str, object], status: int) -> Response:
    text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    return Response(text, status=status, mimetype="application/json")

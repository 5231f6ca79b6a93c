"""HTTP routes of snapshots.

GET  /snapshot         state of the snapshot of each table
POST /snapshot/start   {"table": "keyspace.table"}   copies a table from the beginning
POST /snapshot/stop    {"table": "keyspace.table"}   stops the snapshot of a table

POST returns {"accepted", "message"}. Without `http.token.file` any client of `http.host` and
`http.port` can start snapshots. The body must be `application/json`, which a browser does not send
across origins without a preflight request.
"""

from collections.abc import Callable

from flask import Blueprint, Response, request

from agent.snapshot.snapshot import Snapshot
from agent.snapshot.status import snapshot_document
from sidecar.errors import AccessDeniedError, ConfigError, UnavailableError
from sidecar.http.answers import json_answer, request_answer


def snapshot_pages(snapshot: Callable[[], Snapshot | None]) -> Blueprint:
    """`snapshot` returns None while the agent starts, and with `schema.file`."""
    pages = Blueprint("snapshot", __name__)

    @pages.get("/snapshot")
    def show() -> Response:
        found = snapshot()
        return json_answer({"tables": []} if found is None else snapshot_document(found))

    @pages.post("/snapshot/start")
    def start() -> Response:
        return _answer(snapshot(), Snapshot.start_table)

    @pages.post("/snapshot/stop")
    def stop() -> Response:
        return _answer(snapshot(), Snapshot.stop_table)

    return pages


def _answer(snapshot: Snapshot | None, act: Callable[[Snapshot, str], str]) -> Response:
    document = request.get_json(silent=True)
    table = document.get("table") if isinstance(document, dict) else None
    if not isinstance(table, str):
        status = 400 if request.is_json else 415
        return request_answer(False, 'The body must be JSON: {"table": "keyspace.table"}.', status)
    if snapshot is None:
        return request_answer(
            False, "The agent is starting, or uses schema.file without a node.", 503
        )
    try:
        return request_answer(True, act(snapshot, table), 200)
    except ConfigError as error:
        return request_answer(False, str(error), 422)
    except (UnavailableError, AccessDeniedError) as error:
        return request_answer(False, str(error), 503)

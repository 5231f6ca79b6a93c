"""Signals and snapshot progress over HTTP.

POST /signals    {"id", "type", "data"}   202 {"accepted", "message"}, or 4xx, 5xx with the same
GET  /snapshot   progress of snapshots, by stream

The agent answers 202 after it stored the signal with the offsets, so a crash does not undo it.

Signals require the token of `http.token.file`, if set. Without it every client that reaches
`http.host` and `http.port` can start a snapshot. The body must be `application/json`, which web
pages of other origins cannot send without a preflight request.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any

from flask import Blueprint, Response, request

from mongo_agent.signals.signal import Signal, SignalResult, parse_signal
from sidecar.http.answers import json_answer, request_answer

CHANNEL = "http"
_WAIT_S = 20.0
_NO_ANSWER = (
    "The agent has not stored the signal yet: it is starting or stopping, or the sink is "
    "unavailable. GET /snapshot shows whether it was accepted."
)


Send = Callable[[Signal], Future[SignalResult]]
Snapshots = Callable[[], Mapping[str, Mapping[str, Any]]]


def signal_pages(send: Send, snapshots: Snapshots, *, wait_s: float = _WAIT_S) -> Blueprint:
    """The routes. `send` passes a signal to the pipeline; `snapshots` returns the progress as JSON.

    Server threads call both.
    """
    pages = Blueprint("signals", __name__)

    @pages.post("/signals")
    def signals() -> Response:
        document = request.get_json(silent=True)
        if not isinstance(document, dict):
            message = 'The body must be a JSON object: {"type": …, "data": …}.'
            return request_answer(False, message, 415 if not request.is_json else 400)
        try:
            answer = send(parse_signal(document, CHANNEL)).result(wait_s)
        except (FutureTimeoutError, CancelledError):
            return request_answer(False, _NO_ANSWER, 503)
        status = 202 if answer.is_accepted else 422
        return request_answer(answer.is_accepted, answer.message, status)

    @pages.get("/snapshot")
    def snapshot() -> Response:
        return json_answer({"streams": dict(snapshots())})

    return pages
